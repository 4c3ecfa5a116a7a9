//! One part of a run: what is done before and after it, what runs in it, and when it ends.

use crate::plan::job::Job;
use crate::plan::stop::Stop;
use serde::{Deserialize, Serialize};

/// One barrier-to-barrier part of a run. Its jobs start together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Key of its results.
    pub name: String,
    /// What a person reads in the table.
    pub title: String,
    /// Which uses of storage its numbers stand for; the engine has no use for it.
    #[serde(default)]
    pub stands_for: String,
    /// Place of its results in a table of several phases; the engine has no use for it.
    #[serde(default)]
    pub cell: Option<TableCell>,
    /// Which repeat of the same phase this is, from 0.
    pub repeat: u32,
    /// The state of the client's cache that the phase wants; the steps in `before` bring it about, cachestat checks it.
    pub cache: CacheCondition,
    /// Done in order before the start.
    pub before: Vec<Step>,
    /// What the start waits for when all workers are ready: whoever orders the start waits, not the engine.
    #[serde(default)]
    pub gate: Option<StartCondition>,
    /// What runs.
    pub jobs: Vec<Job>,
    /// When the phase ends, on top of each job's own rule.
    pub stop: Stop,
    /// Longest time: where the rate is not steady after `stop.seconds`, the phase goes on until it is, or until then. Whoever
    /// orders the start looks at the rate and ends the phase; an engine that hears nothing goes on until then.
    #[serde(default)]
    pub extend_to_s: Option<f64>,
    /// When the rates or latencies of the phase are even enough for it to end; whoever orders the start looks at them, as above.
    #[serde(default)]
    pub steady: Option<SteadyRule>,
    /// Seconds from the start that are recorded but kept out of the headline.
    pub ramp_s: f64,
    /// Done in order after all workers have stopped.
    pub after: Vec<Step>,
}

impl Phase {
    /// When the phase ends at the latest, on top of each job's own rule.
    pub fn latest_stop(&self) -> Stop {
        Stop { seconds: self.extend_to_s.or(self.stop.seconds), ..self.stop.clone() }
    }
}

/// Place in a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableCell {
    /// Name of the row.
    pub row: String,
    /// Name of the column.
    pub column: String,
}

/// Evenness of what all jobs of a phase do together, at which the phase ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyRule {
    /// What is looked at.
    pub of: SteadyOf,
    /// How it is judged.
    pub by: SteadyBy,
    /// It is even below this: per second and step (slope), or as what is looked at.
    pub bound: f64,
    /// Whether the bound is in per cent of the mean.
    pub is_percent: bool,
    /// Time that is looked at, up to now.
    pub window_s: f64,
    /// Time from the start that is left out.
    pub skip_s: f64,
    /// Length of one value.
    pub step_s: f64,
}

/// Rounds: phases that are repeated until the results of some are steady over several rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounds {
    /// Names of the phases whose results are looked at.
    pub of: Vec<String>,
    /// What of these results.
    pub by: SteadyOf,
    /// Consecutive rounds that are looked at.
    pub window: u32,
    /// Rounds after which it ends in any case.
    pub most: u32,
    /// Largest minus smallest result, as a share of their mean, up to which they are steady.
    pub range_share: f64,
    /// Rise or fall of the line of least squares over the window, as a share of the mean, up to which they are steady.
    pub slope_share: f64,
}

/// What may be even.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyOf {
    /// Operations per second.
    Ops,
    /// Bytes per second.
    Bytes,
    /// Mean latency in nanoseconds.
    Latency,
}

/// How evenness is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyBy {
    /// By the slope of the line of least squares, from one value to the next.
    Slope,
    /// By the largest distance from the mean.
    Deviation,
}

/// What the start of a phase waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum StartCondition {
    /// One of a set of System V semaphores: as many runs as it is high each take one, and wait until it is at zero.
    Semaphore {
        /// Key of the set.
        key: u64,
        /// Which of the set, from 0.
        number: u64,
        /// Semaphores in the set.
        of: u64,
    },
    /// A line of input, or its end.
    InputLine {
        /// What is printed before.
        number: u64,
    },
    /// A decision by the results of earlier rounds: this phase begins another round of the Plan's rounds, or the rest of them
    /// is left out.
    NextRound {},
}

/// The client cache that a phase wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheCondition {
    /// Whatever was there.
    AsIs,
    /// No page of the data set resident.
    Cold,
    /// The whole data set resident.
    Warm,
}

/// Something done outside the timed part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Lay a file set out.
    Prepare {
        /// File set.
        set: String,
    },
    /// Ask the kernel to forget the pages of a set (fsync, then POSIX_FADV_DONTNEED). Needs no privilege.
    Evict {
        /// File set.
        set: String,
    },
    /// Drop page cache, dentries and inodes of a whole machine. Needs root.
    DropCaches {
        /// Which machine.
        place: Place,
    },
    /// Unmount and mount the target again. Needs root and a target that is a mount point.
    Remount {
        /// Target.
        target: String,
    },
    /// Read a set (or the first share of it) into the page cache.
    Warm {
        /// File set.
        set: String,
        /// Share of each file, from its start.
        share: f64,
    },
    /// Read a stamped set as a whole, from storage, and compare every block with what was written.
    Verify {
        /// File set.
        set: String,
    },
    /// `syncfs` on every target.
    Sync {},
    /// Wait until dirty and write-back pages are back at their base.
    Settle {
        /// Longest wait in seconds.
        at_most_s: f64,
    },
    /// Discard all blocks of a set on a block device, whose content is lost.
    Discard {
        /// File set.
        set: String,
    },
    /// Fill the target's file system to a share of its size.
    Fill {
        /// Target.
        target: String,
        /// Used share to reach.
        used_share: f64,
    },
    /// Remove and make files of a set again, so that files and free space are as scattered as in use.
    Age {
        /// File set, prepared and whole.
        set: String,
        /// Files replaced, as a multiple of the set's files.
        churn: f64,
    },
    /// Remove a marked file set.
    Remove {
        /// File set.
        set: String,
    },
    /// Do nothing.
    Sleep {
        /// Seconds.
        seconds: f64,
    },
    /// Run a program; only when the user allowed commands.
    Command {
        /// Program and arguments; no shell.
        argv: Vec<String>,
    },
    /// Measure what this client could ever show: memory copy, system call, clock read, content fill, cached pread.
    Ceilings {
        /// File set whose first file serves for the cached pread.
        set: String,
        /// Seconds for all of them together.
        seconds: f64,
    },
}

/// Whose caches a step means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The machine that the engine runs on.
    Client,
    /// The machine that serves the data, through an observer there.
    Server,
}
