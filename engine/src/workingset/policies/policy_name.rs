//! The names of policies.

use serde::{Deserialize, Serialize};

/// The policies that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// Least recently used.
    Lru,
    /// First in, first out.
    Fifo,
    /// Least frequently used, and of these least recently.
    Lfu,
    /// Adaptive replacement.
    Arc,
    /// Three queues.
    S3Fifo,
    /// Two queues, the full version; it resists scans.
    TwoQ,
}
