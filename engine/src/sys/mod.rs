//! System calls outside the backends, and the processor.

pub mod advice;
pub mod affinity;
pub mod atomic;
pub mod beneath;
pub mod cpu_cache;
pub mod dents;
pub mod exit_status;
pub mod extents;
pub mod fs_map;
pub mod futex;
pub mod limits;
pub mod mapped_words;
pub mod mapping;
pub mod own_directory;
pub mod own_files;
pub mod posix;
pub mod process;
pub mod residency;
pub mod shared;
pub mod signals;
pub mod syscall;
pub mod time;
