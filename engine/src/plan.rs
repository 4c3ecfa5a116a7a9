//! The Plan: what to do, complete and explicit. First of the engine's two seams.
//!
//! One Plan arrives as JSON on the engine's standard input. Its Python twin is `src/assay/plan.py`; a test sends every
//! variant through both. The types hold everything that the classic tools can ask for. What this engine does not carry
//! out yet is refused before anything is touched (`validate.rs`), never skipped.
//!
//! Units are in the names: `_s` seconds, `_bytes` bytes, `_per_s` rates. Shares lie between 0 and 1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// Who the engine runs as; none: who starts the run.
    #[serde(default)]
    pub user: Option<User>,
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
    /// `file:///absolute/dir`, later `block:/dev/x`, `nfs://`, `smb://`, `s3://`.
    pub uri: String,
}

/// Files of one kind, named by index: no list of names exists anywhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// Name that phases refer to.
    pub name: String,
    /// Target that holds it.
    pub target: String,
    /// Folder of the set, relative to the target's data folder; it carries Assay's mark.
    pub path: String,
    /// Number of indices: the most files that the set can hold.
    pub files: u64,
    /// Size of each file in bytes.
    pub size: Distribution,
    /// How files spread over directories.
    pub layout: Layout,
    /// File name; `{index}` is replaced by the zero-padded index.
    pub file_name: String,
    /// Share of the files that exist after `prepare` (the first ones); the rest is for creation during the run.
    pub existing_share: f64,
    /// What to do when the folder already holds a marked set.
    pub reuse: Reuse,
    /// What the bytes look like.
    pub content: Content,
    /// How blocks are allocated.
    pub allocate: Allocate,
    /// Threads that create it.
    pub create_workers: u32,
    /// Whether the set stays on the target after the run. `false`: removed however the run ends.
    pub keep: bool,
}

/// How the files of a set spread over directories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Layout {
    /// All files in the set's own folder.
    Flat {},
    /// `files` files in each of as many numbered directories as are needed.
    PerDirectory {
        /// Files in one directory.
        files: u64,
    },
    /// Files only in the leaves of a tree of fixed shape.
    Tree {
        /// Sub-directories of each directory.
        width: u32,
        /// Levels below the set's folder.
        depth: u32,
    },
    /// A tree whose width is drawn per directory (Filebench).
    TreeGamma {
        /// Mean sub-directories or files of a directory.
        mean_width: f64,
        /// Shape of the gamma distribution; 0 is exact.
        gamma: f64,
    },
}

/// Whether a set that is already there may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Remove a marked set and lay it out anew.
    Never,
    /// Use it when its mark says that geometry, content and seed are the same.
    IfMatches,
    /// Use whatever is there without looking (files of the right names and sizes must exist).
    Trust,
}

/// What written bytes look like. The default is incompressible and unique.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Size before / size after compression (zstd level 3), 1 to 10; 1 is incompressible.
    pub compress_ratio: f64,
    /// Blocks of 4 KiB written / distinct ones; 1 is all unique. It holds for transfers of whole blocks.
    pub dedupe_ratio: f64,
    /// Whether every sector carries its place, its generation and a checksum, verified on read.
    pub stamped: bool,
}

/// How file blocks come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allocate {
    /// Written with content, so that reads hit written blocks.
    Write,
    /// `fallocate`: allocated, never written. Reads of it are answered by the file system alone.
    Fallocate,
    /// `ftruncate`: holes.
    Sparse,
}

/// One barrier-to-barrier part of a run. Its jobs start together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Key of its results.
    pub name: String,
    /// What a person reads in the table.
    pub title: String,
    /// Which repeat of the same phase this is, from 0.
    pub repeat: u32,
    /// The state of the client's cache that the phase wants; the steps in `before` bring it about, cachestat checks it.
    pub cache: CacheCondition,
    /// Done in order before the start.
    pub before: Vec<Step>,
    /// What the start waits for when all workers are ready: whoever orders the start waits, not the engine.
    #[serde(default)]
    pub gate: Option<Gate>,
    /// What runs.
    pub jobs: Vec<Job>,
    /// When the phase ends, on top of each job's own rule.
    pub stop: Stop,
    /// Seconds from the start that are recorded but kept out of the headline.
    pub ramp_s: f64,
    /// Done in order after all workers have stopped.
    pub after: Vec<Step>,
}

/// What the start of a phase waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Gate {
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
    /// Read a stamped set as a whole and compare every block with what was written.
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

/// Identical workers that run one body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Key of its results.
    pub name: String,
    /// How many.
    pub workers: u32,
    /// What a worker is.
    #[serde(rename = "as")]
    pub kind: WorkerKind,
    /// What each of them does.
    pub body: Body,
    /// When operations are due.
    pub arrival: Arrival,
    /// How data operations reach the kernel.
    pub backend: Backend,
    /// I/Os that each worker keeps in flight; 1 is synchronous.
    pub queue_depth: u32,
    /// Flags of the files it opens.
    pub open: OpenFlags,
    /// CPUs and memory of its workers.
    pub affinity: Affinity,
    /// Limits that pace a closed loop without a schedule of arrivals.
    pub limit: RateLimit,
    /// When a worker of this job is done.
    pub stop: Stop,
    /// Names of the operations and groups that are recorded; empty: all.
    pub timed: Vec<String>,
}

/// What a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerKind {
    /// A thread of the engine.
    Thread,
    /// A forked process.
    Process,
}

/// What a worker does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// Actions in order, again and again.
    Loop {
        /// At least one.
        actions: Vec<Action>,
    },
    /// An explicit list of operations in a file beside the Plan.
    Script {
        /// Operations as templates, referred to by index.
        ops: Vec<Op>,
        /// Several operations as one line, referred to by the indices after those of `ops`.
        groups: Vec<ScriptGroup>,
        /// NDJSON file of `[op, file index, offset, size, due_ns]`, one operation a line, dealt out to the workers in
        /// turn. `due_ns` above 0: when it is to begin, from the start. For rename, link, symlink, clone and copy, `offset`
        /// is the file index that they go to. A script names its files itself: `pick` does not matter.
        path: String,
    },
}

/// Operations that one line of a script does in order, with its file, offset and size; also timed together. It is broken
/// off where one fails. Slots that it uses are filled in it. Its files are opened for what it does with them: to read, to
/// write, for both, and with O_APPEND where a write's access is `append`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptGroup {
    /// Key of its histogram.
    pub name: String,
    /// At least one.
    pub ops: Vec<Op>,
    /// Longest piece in which its reads and writes move (backends psync and stdio); 0: each in one call.
    pub chunk_bytes: u64,
    /// Its writes give bytes that were made before the start, from the first one on, with eight new ones in every 4 KiB of a
    /// file, instead of new bytes throughout: no block is like another all the same, and making them takes no time.
    pub pooled: bool,
}

/// One step of an op loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "a Plan has few actions, and most of them are operations")]
pub enum Action {
    /// Issue an operation.
    Op {
        /// The operation.
        op: Op,
    },
    /// Actions that are also timed together, under a name of their own.
    Group {
        /// Key of the group's histogram.
        name: String,
        /// Members.
        actions: Vec<Action>,
        /// Whether each completion is also told by itself, with its worker, end and latency (`laps` in the event stream),
        /// timed or not.
        laps: bool,
    },
    /// One of several branches, by weight.
    Choice {
        /// Weights and branches.
        branches: Vec<Branch>,
    },
    /// A number of times.
    Repeat {
        /// How often.
        times: u64,
        /// Members.
        actions: Vec<Action>,
    },
    /// Take from a semaphore that all workers of the phase share and that begins at 0. Ends the worker when all of
    /// them wait.
    Wait {
        /// Its name.
        semaphore: String,
        /// How much.
        count: u64,
    },
    /// Give to a semaphore.
    Post {
        /// Its name.
        semaphore: String,
        /// How much.
        count: u64,
    },
    /// Take a token of a rate that workers share.
    Token {
        /// Its name.
        bucket: String,
        /// Tokens per second, over all takers.
        rate_per_s: f64,
        /// What one token stands for. Events: one is taken here; else what the worker did since it paid last is paid for.
        unit: TokenUnit,
    },
    /// Pause.
    Think {
        /// Seconds.
        seconds: Distribution,
        /// Burn CPU instead of sleeping.
        burn: bool,
    },
    /// The worker is done once an operation has reached a count.
    FinishOn {
        /// Name of the operation; empty: all of the worker's data operations.
        op: String,
        /// Operations, if counted.
        ops: Option<u64>,
        /// Bytes, if counted.
        bytes: Option<u64>,
    },
}

/// One branch of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Relative weight.
    pub weight: f64,
    /// What it does.
    pub actions: Vec<Action>,
}

/// What a token of a rate stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenUnit {
    /// One pass of the loop.
    Event,
    /// One operation of any kind.
    Op,
    /// One data operation.
    DataOp,
    /// One MiB of data.
    Mebibyte,
}

/// An operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Op {
    /// What is done.
    pub op: OpKind,
    /// Key of its histogram.
    pub name: String,
    /// Which file.
    pub file: FileRef,
    /// Where in the file (data operations).
    pub access: Access,
    /// Bytes of one operation (data operations; length of truncate and fallocate). `create` writes nothing itself. Data
    /// operations move at least 1 byte, and laws without a bound are cut where at most one draw in a million lies above.
    pub size: Distribution,
    /// Extras.
    pub flags: OpFlags,
}

/// Kinds of operations, and what each makes of `pick` and `slot` (rules: `program/op_rules.rs`).
///
/// Operations on an open file take one that the worker opened before the start (a set with pick `next`, `random` or
/// `own`) or a slot. Operations on a name pick it from the set, and some of them take a slot too. With a set, `slot` keeps
/// the file for later operations: `create` and `open` leave a handle there, which `close` may close; operations on files
/// opened before the start lend theirs; operations on names leave the name (rename, link, symlink, clone and copy: the
/// new one). Where an open fails, what follows on its slot fails and is counted. `create`, `mkdir`, `rename`, `link`,
/// `symlink`, `clone` and `copy` take the next free name of the set, `unlink`, `rmdir` and `rename` give the first
/// existing one back; names are a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Read at an offset.
    Read,
    /// Write at an offset.
    Write,
    /// Flush data and metadata.
    Fsync,
    /// Flush data.
    Fdatasync,
    /// Start write-back of a range (open file); with the advice `wait`, also await it. In a slot: of the `size` bytes
    /// before its position. Size 0: of the whole file.
    SyncFileRange,
    /// Create a file that must not exist, leaving it open in the slot.
    Create,
    /// Open an existing file into the slot.
    Open,
    /// Close the slot, which holds a handle of `create` or `open`.
    Close,
    /// Attributes by path; the file's own where the path is a symbolic link. A slot gives its name.
    Stat,
    /// Attributes of an open file.
    Fstat,
    /// Remove a file (pick `existing`).
    Unlink,
    /// Rename to the next free name of the set (pick `existing`).
    Rename,
    /// Hard link to the next free name of the set.
    Link,
    /// Symbolic link at the next free name of the set, to the absolute path of the file that was picked.
    Symlink,
    /// Set the length to `size` (name or slot).
    Truncate,
    /// Allocate the first `size` bytes (open file).
    Fallocate,
    /// Create a directory (pick `new`). It has the name and place of a file, in a set that holds no files.
    Mkdir,
    /// Remove a directory that `mkdir` made (pick `existing`).
    Rmdir,
    /// List a directory that holds files of the set: open, read to the end, close. `pick` counts directories.
    Readdir,
    /// List a directory and look at the attributes of each entry, as `ls -l` does.
    ReaddirStat,
    /// Share all extents with a new file (reflink). Ends the run where the file system has none.
    Clone,
    /// Copy within the kernel to a new file.
    Copy,
    /// Change mode bits, between 0640 and 0644 (name or slot).
    Chmod,
    /// Set the extended attribute `user.assay` to a new value of `size` bytes (name or slot).
    Setxattr,
    /// Get the extended attribute `user.assay` (name or slot).
    Getxattr,
    /// Advise the kernel about `size` bytes where `access` points, 0: about the whole file (open file); see
    /// `flags.advice`.
    Advise,
    /// Lock the whole of an open file with fcntl(2) (F_SETLKW, F_WRLCK), waiting for the locks of others; the file is open
    /// for writing. The locks of threads are apart, as those of processes are, where workers have their own open files.
    Lock,
    /// The same for readers (F_RDLCK), on a file that is open for reading.
    LockShared,
    /// Give the lock back (F_UNLCK).
    Unlock,
    /// Run the program `flags.argv` and wait for its end (name or slot; pick `new` gives it the next free name, which it is to
    /// make). What it moves is not seen: `size` says it, 0 if it is not known.
    Spawn,
}

/// Which file an operation works on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FileRef {
    /// Picked from a set.
    Set {
        /// File set.
        set: String,
        /// How.
        pick: Pick,
        /// Slot that keeps the handle or the chosen index for later operations of this worker.
        slot: Option<u32>,
    },
    /// The file that an earlier operation of this worker left in a slot.
    Slot {
        /// Slot.
        slot: u32,
    },
}

/// How a file is picked from a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pick {
    /// One after another, shared by all workers. Sequential access moves on when a file is through.
    Next {},
    /// Drawn anew for each operation.
    Random {
        /// Over the existing files, as a position in [0, 1) or by rank.
        distribution: Distribution,
    },
    /// By a variable of the front end, modulo the number of files.
    Indexed {
        /// The value.
        value: Distribution,
    },
    /// The next index that does not exist yet.
    New {},
    /// The next existing file in rotation; `unlink` takes each once.
    Existing {},
    /// File `worker modulo files`: each worker its own.
    Own {},
    /// The existing files in the order in which their directories list them, each once; the listing is in no operation's
    /// time.
    Listed {},
    /// Each once in a random order: of the existing files or, for `create`, of the free names.
    Shuffled {},
}

/// Where in a file a data operation goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Access {
    /// Upwards.
    Sequential {
        /// Part of the file.
        region: Region,
        /// Start over at the end; otherwise the worker is exhausted there.
        wrap: bool,
    },
    /// Downwards from the end.
    Backward {
        /// Part of the file.
        region: Region,
        /// Start over at the beginning of the region.
        wrap: bool,
    },
    /// Upwards, leaving gaps.
    Stride {
        /// Part of the file.
        region: Region,
        /// From the start of one operation to the start of the next.
        stride_bytes: u64,
        /// Start over at the end.
        wrap: bool,
    },
    /// Jumping.
    Random {
        /// Part of the file.
        region: Region,
        /// Which blocks are likelier.
        distribution: Distribution,
        /// Whether blocks repeat.
        coverage: Coverage,
        /// Offsets are multiples of this; 0: of the operation's size.
        align_bytes: u64,
    },
    /// At the end of the file.
    Append {},
    /// The whole file from start to end, in pieces, as one operation.
    Whole {
        /// Size of a piece in bytes; 0: the operation's size.
        chunk_bytes: u64,
    },
}

/// Part of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Region {
    /// All of it.
    Whole {},
    /// The worker's equal share: worker i of n gets the i-th part.
    Slice {},
    /// From a byte on, for a length.
    Range {
        /// First byte.
        from_bytes: u64,
        /// Length.
        length_bytes: u64,
    },
}

/// Whether random access visits a block again before all others had their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Independent draws.
    WithRepeats,
    /// Every block once, in random order, then exhausted.
    EachOnce,
    /// Every block once, then a new order, on and on.
    Rounds,
}

/// Extras of an operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpFlags {
    /// RWF_DSYNC on this operation alone.
    pub dsync: bool,
    /// RWF_NOWAIT: fail instead of waiting; each EAGAIN counts as an error and has no latency.
    pub nowait: bool,
    /// RWF_HIPRI.
    pub high_priority: bool,
    /// Pieces of a vectored call; 0 or 1: plain.
    pub vectors: u32,
    /// POSIX_FADV_ or MADV_ name for `advise`, the short form in lower case too; `wait` for `sync_file_range`.
    pub advice: String,
    /// A write gives what the worker's buffer holds (zeroes at first, then what was read last) with one more byte changed
    /// each time, instead of new content.
    pub keeps_buffer: bool,
    /// The memory of a read or write is out of the processor's caches when the call is made; what that takes is in no
    /// latency (x86-64).
    pub cold_buffer: bool,
    /// Longest piece in which a read or write moves, one call after the other (backends psync, read_write and stdio); 0: in
    /// one call. It stays one operation with one latency.
    pub chunk_bytes: u64,
    /// Program and arguments of `spawn`; no shell. `{path}` in an argument stands for the file's absolute path. A name
    /// without a slash is looked for in PATH before the run.
    pub argv: Vec<String>,
}

/// When operations are due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// As soon as the previous one is done.
    Closed {},
    /// On a schedule that does not wait for completions; response time counts from the scheduled arrival.
    Open {
        /// Arrivals per second over all workers of the job.
        rate_per_s: f64,
        /// Time between arrivals.
        spacing: Spacing,
    },
}

/// Time between arrivals of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Equal.
    Uniform,
    /// Exponential.
    Poisson,
}

/// How data operations reach the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Backend {
    /// pread and pwrite.
    Psync {},
    /// read and write at the file's own position, and lseek where the next transfer is elsewhere.
    ReadWrite {},
    /// io_uring.
    IoUring {
        /// Kernel thread that polls the submission queue.
        sqpoll: bool,
        /// Busy-wait for completions (polled devices only).
        iopoll: bool,
        /// What happens where the kernel refuses io_uring.
        fallback: Fallback,
    },
    /// Linux AIO: asynchronous with O_DIRECT alone; a buffered request is carried out while it is submitted.
    Aio {},
    /// Memory-mapped file: reads copy from it, writes into it, flushes are msync. It ends where the file did at opening.
    Mmap {},
    /// C library streams without their lock. An operation is done when the stream's buffer has it.
    Stdio {
        /// One call a character (putc, getc); an operation is a block of them either way. Else fwrite and fread.
        per_character: bool,
    },
}

/// What happens where a backend cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// The run is refused.
    Refuse,
    /// As many threads as the queue depth, each with psync; said in the events.
    Threads,
}

/// Flags of opened files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenFlags {
    /// O_DIRECT.
    pub direct: Direct,
    /// O_SYNC.
    pub sync: bool,
    /// O_DSYNC.
    pub dsync: bool,
    /// O_APPEND.
    pub append: bool,
    /// O_NOATIME where allowed.
    pub no_access_time: bool,
    /// POSIX_FADV_ name applied after open; empty: none.
    pub advice: String,
}

/// O_DIRECT, and what to do where the file system refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direct {
    /// Through the page cache.
    Off,
    /// O_DIRECT, or the run is refused.
    On,
    /// O_DIRECT where it works, else buffered; said in the events.
    IfSupported,
}

/// CPUs and memory of a job's workers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affinity {
    /// CPU numbers; worker i gets entry i modulo the length. Empty: the scheduler chooses.
    pub cpus: Vec<u32>,
    /// NUMA node of CPUs and buffers.
    pub numa_node: Option<u32>,
}

/// Limits that pace a closed loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Operations per second over all workers of the job.
    pub ops_per_s: Option<f64>,
    /// Bytes per second over all workers of the job.
    pub bytes_per_s: Option<f64>,
}

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

/// A distribution of numbers. Values below zero are clipped to zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// Always the same.
    Fixed {
        /// The value.
        value: f64,
    },
    /// Equally likely between two bounds, both included for whole numbers.
    Uniform {
        /// Lower bound.
        min: f64,
        /// Upper bound.
        max: f64,
    },
    /// Normal.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Gamma.
    Gamma {
        /// Mean above `min`.
        mean: f64,
        /// Shape.
        shape: f64,
        /// Added to every draw.
        min: f64,
    },
    /// Log-normal.
    Lognormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Zipf over ranks; rank 0 is the likeliest.
    Zipf {
        /// Exponent.
        theta: f64,
        /// Whether ranks are scattered over the range by a permutation.
        scramble: bool,
    },
    /// Pareto over ranks.
    Pareto {
        /// Share `h` of the accesses goes to share `1 - h` of the range.
        h: f64,
        /// Whether ranks are scattered.
        scramble: bool,
    },
    /// A share of the accesses goes to a share of the range.
    HotSpot {
        /// Share of the range that is hot, from its start.
        range_share: f64,
        /// Share of the accesses that go there.
        access_share: f64,
    },
    /// Weighted segments, uniform inside each.
    Tabular {
        /// `[weight, min, max]`.
        rows: Vec<[f64; 3]>,
    },
}
