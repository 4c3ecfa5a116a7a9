//! The Plan: what to do, complete and explicit. First of the engine's two seams.
//!
//! One Plan arrives as JSON on the engine's standard input. Its Python twin is `src/assay/plan/`; a test sends every
//! variant through both. The types hold everything that the classic tools can ask for. What this engine does not carry
//! out yet is refused before anything is touched (`program/`, `steps/`), never skipped.
//!
//! Units are in the names: `_s` seconds, `_bytes` bytes, `_per_s` rates. Shares lie between 0 and 1.

mod body;
mod distribution;
mod file_set;
mod job;
pub mod limits;
mod op;
mod phase;
mod stop;
mod walk;

pub use body::{Action, Body, Branch, ScriptGroup, TokenUnit};
pub use distribution::Distribution;
pub use file_set::{Allocate, Content, FileSet, Layout, Reuse};
pub use job::{
    Affinity, Arrival, Backend, Batch, Direct, Ends, Fallback, Job, OpenFlags, RateLimit, Spacing, WorkerKind,
};
pub use op::{Access, Coverage, FileRef, Op, OpFlags, OpKind, Pick, Region};
pub use phase::{
    CacheCondition, Phase, Place, Rounds, StartCondition, SteadyBy, SteadyOf, SteadyRule, Step, TableCell,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub use stop::{Stop, StopOf};

/// Version of this document. A Plan of another schema is refused.
pub const SCHEMA: &str = "assay.plan/1";

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Short name of the load, used in the run's folder name.
    pub name: String,
    /// The question that the run answers, in a line; the engine has no use for it.
    #[serde(default)]
    pub answers: String,
    /// What would make that answer void, in a line; the engine has no use for it.
    #[serde(default)]
    pub void_if: String,
    /// Where the Plan came from.
    pub origin: Origin,
    /// Seed of every random choice; the same seed gives the same sequence of operations.
    pub seed: u64,
    /// Length of one interval event in seconds.
    pub sample_interval_s: f64,
    /// Bytes that must stay free on every target; the engine refuses to lay out data past it.
    pub reserve_bytes: u64,
    /// Where the load goes.
    pub targets: Vec<Target>,
    /// The files it works on.
    pub file_sets: Vec<FileSet>,
    /// What happens, in order.
    pub phases: Vec<Phase>,
    /// What ends the rounds of phases that are repeated; the engine has no use for it.
    #[serde(default)]
    pub rounds: Option<Rounds>,
    /// Who the engine runs as; none: who starts the run.
    #[serde(default)]
    pub user: Option<User>,
    /// Which of several engines this one is, where they use the same data folders; none: those are its alone.
    #[serde(default)]
    pub among: Option<Among>,
    /// Findings that the user knows of; the engine has no use for them.
    #[serde(default)]
    pub accept: Vec<String>,
    /// What the front end could not express; shown with every result.
    pub untranslated: Vec<Untranslated>,
}

/// The front end and the text that the Plan was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// `native`, `iozone`, `bonnie`, `fio`, ...
    pub front_end: String,
    /// File name or command line.
    pub source: String,
    /// SHA-256 of the source text, hexadecimal.
    pub sha256: String,
    /// What the front end counted while it made the Plan; the engine has no use for it.
    #[serde(default)]
    pub counts: BTreeMap<String, f64>,
    /// Parameters with another value than the source gives them, in words; the engine has no use for them.
    #[serde(default)]
    pub changed: Vec<String>,
    /// Texts of the files that the source names, by name; the engine has no use for them.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// Who does the work. Whoever starts the engine starts it as this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Number of the user.
    pub uid: u32,
    /// Number of the group.
    pub gid: u32,
}

/// Several engines, as a rule on as many machines, use the data folders at once.
///
/// Whoever is of another run is kept out, as ever. Without an `owner` the sets are there once: the engine of part 0 lays them out,
/// the others wait for them, and the last to leave removes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Among {
    /// Word that the engines of the run have in common, and no other run has: letters and digits.
    pub run: String,
    /// Which part of the workers this engine has: worker i of n is worker `part * n + i` of `parts * n` for slices, files by
    /// number, scripts and random choices.
    pub part: u32,
    /// How many parts there are.
    pub parts: u32,
    /// Client whose files these are, in folders in which the other clients have theirs: the names of its files begin with it and
    /// a dot. Empty: all clients work on the same files.
    pub owner: String,
}

/// Something of the source that has no equal in the Plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Untranslated {
    /// The option or statement, as written.
    pub what: String,
    /// Why it was left out and what that changes.
    pub why: String,
}

/// A place that stores data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name that file sets refer to.
    pub name: String,
    /// `file:///absolute/dir` or `block:/dev/x`.
    pub uri: String,
    /// Whether what is on a block device may be overwritten; without it nothing is written there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub destroy_data: bool,
    /// Number of the block device that the user meant, `major:minor`; empty: whichever the name leads to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub device: String,
}
