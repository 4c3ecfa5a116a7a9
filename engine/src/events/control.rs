//! Words that the engine receives while it runs.

use serde::{Deserialize, Serialize};

/// A line on the engine's standard input after the Plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "control", rename_all = "snake_case", deny_unknown_fields)]
pub enum Control {
    /// Start this phase and all that follow as soon as their workers are ready: there is nobody to agree with.
    StartWhenReady {},
    /// Start the phase that is ready.
    Start {
        /// Phase.
        phase_index: u32,
        /// CLOCK_MONOTONIC of the start in nanoseconds, as this machine reads it; the past means now, and 0 that
        /// nobody else waits for it. No step of the wall clock moves it.
        at_monotonic_ns: u64,
    },
    /// End this phase as if its time were up, and no other: nothing comes of it where the phase is over.
    EndPhase {
        /// Phase.
        phase_index: u32,
    },
    /// Leave out the phase that is ready, and all before another.
    SkipTo {
        /// The phase that is ready.
        phase_index: u32,
        /// The next phase to execute; the number of phases: none.
        next_index: u32,
    },
    /// Remember this moment.
    Mark {
        /// What.
        label: String,
    },
    /// Stop the workers, clean up, finish.
    Stop {},
}
