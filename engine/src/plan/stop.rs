//! When workers are done.

use serde::{Deserialize, Serialize};

/// When something is done. The first rule that holds ends it; with none, exhaustion does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Seconds since the common start.
    pub seconds: Option<f64>,
    /// Operations.
    pub ops: Option<u64>,
    /// Bytes.
    pub bytes: Option<u64>,
    /// Passes of the loop body.
    pub passes: Option<u64>,
    /// Who counts.
    pub of: StopOf,
}

/// Whose operations, bytes and passes a stop rule counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopOf {
    /// Each worker for itself.
    #[default]
    Each,
    /// All workers together.
    All,
    /// Everybody stops when the first worker is done (stonewall).
    First,
}
