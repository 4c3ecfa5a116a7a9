//! How large a cache has to be for a load, from a trace of its requests, apart from any run.
//!
//! `assay-engine workingset QUESTION` reads [traces](readers) as streams, [merges](merge) them by time, divides
//! requests into [blocks], and answers with a line of JSON: the [curve] of an LRU cache's hits by its size, from [reuse
//! distances](recency) of all blocks or of [a sample](sampled_keys); what [tiers] would serve; or what caches with
//! other [policies] would. Before the answer there is a line with the progress every half second.

mod answering;
mod blocks;
mod curve;
mod distances;
mod merge;
mod policies;
mod question;
mod readers;
mod recency;
mod request;
mod sampled_keys;
#[cfg(test)]
mod tests;
mod tiers;
mod trace_bytes;
mod windows;

pub use answering::answer;
pub use question::Question;

use std::io;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The question or a trace is not as it has to be.
    #[error("{0}")]
    Input(String),
    /// A trace cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// The answer cannot be written.
    #[error("the answer could not be written: {0}")]
    Unwritten(io::Error),
}

impl TraceError {
    /// With the name of the trace.
    fn of(self, name: &str) -> Self {
        match self {
            Self::Input(why) => Self::Input(format!("{name}: {why}")),
            Self::Unreadable(error) => Self::Unreadable(io::Error::new(error.kind(), format!("{name}: {error}"))),
            other @ Self::Unwritten(_) => other,
        }
    }
}
