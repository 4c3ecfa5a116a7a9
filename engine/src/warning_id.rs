//! What the engine warns of: identifier, severity and cure of each warning in one table.

use crate::events::Severity;
use serde::{Deserialize, Serialize};

/// Something that a reader of the numbers should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningId {
    /// Linux AIO through the page cache.
    AioBuffered,
    /// Linux AIO without asynchronous flushes.
    AioFlushWaits,
    /// Files that could not be closed without an error.
    CloseFailed,
    /// A start that nobody waited for.
    ControlOutOfOrder,
    /// A line on standard input that is no control line.
    ControlUnreadable,
    /// A block that is not what was written.
    CorruptBlock,
    /// A data folder without a lock.
    DataFolderUnlocked,
    /// Data that could not be removed.
    DataLeftBehind,
    /// The kernel's switch could not be put back.
    DelayAccountingLeftOn,
    /// Somebody turned the kernel's switch off.
    DelayAccountingLost,
    /// The page cache was used where O_DIRECT was wanted.
    DirectRefused,
    /// A file among Assay's that is not.
    ForeignFile,
    /// Inodes that ext4 passes by.
    FreedInodes,
    /// How often blocks were written could not be kept for later runs.
    GenerationsLost,
    /// A directory that was made for more names.
    GrownDirectory,
    /// Files that were never written in places.
    Holes,
    /// Threads of the kernel took over.
    IoWq,
    /// io_uring without registered buffers.
    IoUringBuffersPlain,
    /// io_uring without deferred completions.
    IoUringCompletionsPlain,
    /// Threads in place of io_uring.
    IoUringFallback,
    /// io_uring without registered files.
    IoUringFilesPlain,
    /// A backend without storage.
    NothingMoved,
    /// An error number with a known cause.
    OperationRefused,
    /// A program that failed.
    ProgramFailed,
    /// What the page cache holds could not be found out.
    ResidencyUnknown,
    /// Files whose close took longer than all that was measured.
    SlowClose,
    /// No answer from the storage.
    Stalled,
    /// Bytes that the C library held could not be written.
    StdioFlushFailed,
}

use Severity::{Invalid, Note, Warning, Weak};

impl WarningId {
    /// Stable identifier, as in the events and the findings.
    pub fn id(self) -> &'static str {
        self.entry().0
    }

    /// What it does to the numbers.
    pub fn severity(self) -> Severity {
        self.entry().1
    }

    /// What to do about it; empty where the text says it, or where there is nothing to do.
    pub fn cure(self) -> &'static str {
        self.entry().2
    }

    /// The table. A note moves no number: the Plan allows the fallback expressly, and it puts the same load on storage;
    /// what io_uring does without, or leaves to threads of the kernel, is part of what it costs here; what is not known
    /// about the page cache is judged by what follows from it; a control line that was not obeyed did nothing; a kernel
    /// switch left on is no part of the load; a stall and a directory that has grown are what the storage is. Weak is what is true
    /// of the storage as it was left a moment before, and not of the same storage at rest, and what was left undone in the
    /// time that was measured.
    fn entry(self) -> (&'static str, Severity, &'static str) {
        match self {
            Self::AioBuffered => ("aio-buffered", Warning, "Set direct, or use io_uring."),
            Self::AioFlushWaits => ("aio-flush-waits", Warning, "Use io_uring to have flushes in flight."),
            Self::CloseFailed => ("close-failed", Warning, "Remove the cause, and run again."),
            Self::ControlOutOfOrder => ("control-out-of-order", Note, ""),
            Self::ControlUnreadable => ("control-unreadable", Note, ""),
            Self::CorruptBlock => (
                "corrupt-block",
                Warning,
                "Keep the files and the run; check controller, cable, memory and file system.",
            ),
            Self::DataFolderUnlocked => ("data-folder-unlocked", Warning, "Start no other run there."),
            Self::DataLeftBehind => ("data-left-behind", Warning, ""),
            Self::DelayAccountingLeftOn => ("delay-accounting-left-on", Note, "Set kernel.task_delayacct to 0."),
            Self::DelayAccountingLost => {
                ("delay-accounting-lost", Warning, "Leave kernel.task_delayacct on, and run again.")
            }
            Self::DirectRefused => (
                "direct-refused",
                Warning,
                "Use a file system that supports O_DIRECT, or a set of more than twice the RAM.",
            ),
            Self::ForeignFile => ("foreign-file", Warning, "Keep other programs out of Assay's folder."),
            Self::FreedInodes => {
                ("freed-inodes", Weak, "Wait some minutes, or use a larger file system, or one with a journal.")
            }
            Self::GenerationsLost => {
                ("generations-lost", Note, "Lay the set out anew, so that stale blocks are detected again.")
            }
            Self::GrownDirectory => ("grown-directory", Note, "Lay the set out anew (reuse = 'never')."),
            Self::Holes => ("holes", Warning, "Lay the set out anew (reuse = 'never')."),
            Self::IoWq => ("io-wq", Note, ""),
            Self::IoUringBuffersPlain => (
                "io-uring-buffers-plain",
                Note,
                "Raise the limit of locked memory (ulimit -l), or use a smaller queue_depth.",
            ),
            Self::IoUringCompletionsPlain => {
                ("io-uring-completions-plain", Note, "Use Linux 6.1 or newer, or compare like with like.")
            }
            Self::IoUringFallback => (
                "io-uring-fallback",
                Note,
                "Allow io_uring on this machine (kernel.io_uring_disabled = 0), or compare like with like.",
            ),
            Self::IoUringFilesPlain => ("io-uring-files-plain", Note, "Raise the limit of open files (ulimit -n)."),
            Self::NothingMoved => ("nothing-moved", Invalid, "Use another backend to measure storage."),
            Self::OperationRefused => ("operation-refused", Warning, ""),
            Self::ProgramFailed => ("program-failed", Warning, "Run the program by hand on such a file."),
            Self::ResidencyUnknown => ("residency-unknown", Note, ""),
            Self::SlowClose => (
                "slow-close",
                Weak,
                "Have the load flush or close what it writes, so that this is measured, or run longer.",
            ),
            Self::Stalled => ("stalled", Note, "Look at the device or server, and at the kernel's log."),
            Self::StdioFlushFailed => ("stdio-flush-failed", Warning, "Remove the cause, and run again."),
        }
    }
}
