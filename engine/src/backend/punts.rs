//! How many requests did io_uring hand to worker threads of the kernel (io-wq)?
//!
//! A request that cannot be carried out without waiting (a flush, a buffered write on many file systems, metadata that
//! must be read first) goes to such a thread: it costs a second context switch and its CPU time is nobody's worker's. The
//! kernel counts these nowhere, but has a tracepoint (io_uring:io_uring_queue_async_work) that perf_event_open(2) counts
//! exactly, for the calling thread and the threads that it makes; that needs root and a mounted tracefs. Without it the
//! io-wq threads themselves show it: they are named after their work (`iou-wrk-`), are made with the first request that
//! needs one, and the last one stays as long as its ring. So none at the end of a phase proves a count of zero.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const TRACEPOINT: u64 = 2;
/// `inherit` of `struct perf_event_attr`: threads made later count too (the one that polls for SQPOLL is).
const INHERIT: u64 = 1 << 1;
/// PERF_FLAG_FD_CLOEXEC of linux/perf_event.h.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// Counts the requests that the calling thread, and the threads that it makes from now on, hand to io-wq.
#[derive(Debug)]
pub struct PuntCounter {
    event: OwnedFd,
}

impl PuntCounter {
    /// A counter, where kernel and privileges allow one.
    pub fn open() -> Option<Self> {
        let id = TRACING.iter().find_map(|tracing| {
            let text = fs::read_to_string(format!("{tracing}/events/io_uring/io_uring_queue_async_work/id")).ok()?;
            text.trim().parse::<u64>().ok()
        })?;
        let mut attributes = [0_u64; 16];
        attributes[0] = TRACEPOINT | (size_of_val(&attributes) as u64) << 32;
        attributes[1] = id;
        attributes[5] = INHERIT;
        // SAFETY: the attributes are as long as their size field says and outlive the call.
        let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, CLOSE_ON_EXEC) };
        // SAFETY: a new descriptor that nobody else has.
        (fd >= 0).then(|| Self { event: unsafe { OwnedFd::from_raw_fd(fd as i32) } })
    }

    /// Requests so far.
    pub fn read(&self) -> Option<u64> {
        let mut count = 0_u64;
        // SAFETY: room for the eight bytes of a plain counter.
        let got = unsafe { libc::read(self.event.as_raw_fd(), (&raw mut count).cast(), 8) };
        (got == 8).then_some(count)
    }
}

/// Whether this process is known to have no io-wq thread now.
pub fn has_no_io_wq() -> bool {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return false };
    // A thread may end between the two reads.
    let names = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    !names.into_iter().any(|name| name.starts_with("iou-wrk-"))
}
