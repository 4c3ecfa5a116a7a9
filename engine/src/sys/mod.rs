//! System calls and the processor: what the kernel is asked for elsewhere than in a backend.

pub mod advice;
pub mod affinity;
pub mod beneath;
pub mod cpu_cache;
pub mod exit_status;
pub mod fs_map;
pub mod mapped_words;
pub mod mapping;
pub mod own_directory;
pub mod own_files;
pub mod posix;
pub mod process;
pub mod syscall;
