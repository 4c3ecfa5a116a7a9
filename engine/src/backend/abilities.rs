//! What each backend of the Plan can do: one row a backend.
//!
//! Whoever refuses a load, or explains what came of it, asks a row, so that the compiler leads whoever adds a backend here.

use crate::plan::Backend;

/// Whether data goes past the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectIo {
    /// It never does.
    Never,
    /// It does where files are opened with O_DIRECT.
    Possible,
    /// It has to.
    Needed,
}

/// How a write goes to the end of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appends {
    /// It cannot.
    Never,
    /// On a file that is opened with O_APPEND.
    ByOpening,
    /// By a flag of the call as well.
    ByCall,
}

/// What a backend can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Its name in the Plan.
    pub name: &'static str,
    /// Whether it keeps several requests in flight.
    pub has_queue: bool,
    /// Whether data goes past the page cache.
    pub direct: DirectIo,
    /// Whether sync, dsync and append of opened files take effect.
    pub has_open_flags: bool,
    /// Whether its calls have dsync, nowait, high_priority and vectors.
    pub has_call_flags: bool,
    /// Whether a transfer can move as several calls.
    pub in_pieces: bool,
    /// Whether the groups of a script can have `chunk_bytes` and `pooled`.
    pub in_groups: bool,
    /// How a write goes to the end of its file.
    pub appends: Appends,
    /// Whether it moves data of files that are opened while it runs.
    pub in_slots: bool,
    /// Whether it flushes.
    pub flushes: bool,
    /// Whether a write that is done has left the program, and as whole sectors.
    pub writes_are_done: bool,
    /// Whether each request is carried out while it is submitted where files are open without O_DIRECT.
    pub waits_without_direct: bool,
    /// Whether threads of the kernel (io-wq) take requests over.
    pub has_kernel_threads: bool,
    /// What error numbers mean here alone, in words with what to do.
    pub errors: &'static [(i32, &'static str)],
}

/// As pread and pwrite do it.
const PSYNC: Abilities = Abilities {
    name: "psync",
    has_queue: false,
    direct: DirectIo::Possible,
    has_open_flags: true,
    has_call_flags: true,
    in_pieces: true,
    in_groups: true,
    appends: Appends::ByCall,
    in_slots: true,
    flushes: true,
    writes_are_done: true,
    waits_without_direct: false,
    has_kernel_threads: false,
    errors: &[],
};
/// What all backends with a queue do.
const QUEUED: Abilities = Abilities { has_queue: true, in_pieces: false, in_groups: false, ..PSYNC };

impl Backend {
    /// What it can do.
    pub const fn abilities(&self) -> Abilities {
        match self {
            Self::Psync {} => PSYNC,
            Self::ReadWrite {} => Abilities {
                name: "read_write",
                has_call_flags: false,
                in_groups: false,
                appends: Appends::ByOpening,
                ..PSYNC
            },
            Self::IoUring { iopoll, .. } => Abilities {
                name: "io_uring",
                direct: if *iopoll { DirectIo::Needed } else { DirectIo::Possible },
                flushes: !*iopoll,
                has_kernel_threads: true,
                errors: if *iopoll { &[(libc::EOPNOTSUPP, NOT_POLLED)] } else { &[] },
                ..QUEUED
            },
            Self::Aio {} => Abilities { name: "aio", waits_without_direct: true, ..QUEUED },
            Self::Null {} => {
                Abilities { name: "null", appends: Appends::Never, in_slots: false, writes_are_done: false, ..QUEUED }
            }
            Self::Mmap {} => Abilities {
                name: "mmap",
                direct: DirectIo::Never,
                has_open_flags: false,
                has_call_flags: false,
                in_pieces: false,
                in_groups: false,
                appends: Appends::Never,
                in_slots: false,
                writes_are_done: false,
                errors: &[(libc::EIO, PAGE_LOST)],
                ..PSYNC
            },
            Self::Stdio { per_character } => Abilities {
                name: "stdio",
                direct: DirectIo::Never,
                has_call_flags: false,
                in_groups: !*per_character,
                appends: Appends::ByOpening,
                writes_are_done: false,
                ..PSYNC
            },
        }
    }
}

const NOT_POLLED: &str = "iopoll needs a device with polling queues (for NVMe the module option poll_queues) and a file \
                          system that passes polling on; set iopoll to false";
const PAGE_LOST: &str = "storage could not give or take a page of the mapping: the file has shrunk, the file system is \
                         full, or the device failed (the kernel log says which)";
