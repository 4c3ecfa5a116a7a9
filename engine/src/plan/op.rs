//! An operation: what is done, to which file, where in it.

use crate::plan::distribution::Distribution;
use serde::{Deserialize, Serialize};

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
    /// Set the length of an open file to where `access` points, in steps of `size`.
    TruncateAt,
    /// Allocate `size` bytes where `access` points, the first ones with `whole` (open file).
    Fallocate,
    /// Give `size` bytes where `access` points back to the file system; reads of them are zeroes, and the length stays (open
    /// file).
    PunchHole,
    /// Tell a block device that `size` bytes where `access` points are not used any more (BLKDISCARD); their content is
    /// lost.
    Discard,
    /// Set `size` bytes where `access` points to zeros without moving any (FALLOC_FL_ZERO_RANGE), and the length stays
    /// (open file).
    WriteZeroes,
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

/// Extras of an operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpFlags {
    /// RWF_DSYNC on this operation alone.
    pub dsync: bool,
    /// RWF_NOWAIT: fail instead of waiting; each EAGAIN counts as an error and has no latency.
    pub nowait: bool,
    /// A read is tried with RWF_NOWAIT first, which the page cache alone answers, and made again where it does not: what
    /// each of them delivered is counted. The latency is of both (backend psync).
    pub cached_first: bool,
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
    /// Program and arguments of `spawn`; no shell. `{path}` in an argument becomes the file's absolute path. A name
    /// without a slash is looked for in PATH before the run.
    pub argv: Vec<String>,
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
    /// The existing file by name that was picked the longest ago, by any operation with this pick on the set; removing with
    /// pick `existing` takes the same. It is in no other worker's hands meanwhile.
    InTurn {},
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
    /// Upwards as one stream, which all workers of the job and all its operations on the file go on with (pick `own`).
    Stream {
        /// Part of the file.
        region: Region,
        /// Start over at the end; otherwise it is exhausted there.
        wrap: bool,
        /// Share of the operations that begin at a random place, from which the stream then goes on.
        jump_share: f64,
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
        /// A read goes on to where the file ends now, which an empty read shows; otherwise to where it ended when it was
        /// laid out.
        to_end: bool,
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
