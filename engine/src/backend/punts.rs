//! How many requests did io_uring hand to worker threads of the kernel (io-wq)?
//!
//! A request that cannot be carried out without waiting (a flush, a buffered write on many file systems, metadata that
//! must be read first) goes to such a thread: it costs a second context switch and its CPU time is nobody's worker's. The
//! kernel counts these nowhere, but has a tracepoint (io_uring:io_uring_queue_async_work) that perf_event_open(2) counts
//! exactly; that needs root and a mounted tracefs. It is counted for each CPU, with the submitting thread as a filter: an event
//! of the thread itself would have a part in each of its context switches, and so in the latencies (some 5 % of the CPU time of
//! a read at depth 1). Without it the io-wq threads themselves show it: they are named after their work (`iou-wrk-`), are made
//! with the first request that needs one, and the last one stays as long as its ring. So none at the end of a phase proves a
//! count of zero.

use crate::sys::affinity::online_cpus;
use crate::sys::process::thread_id;
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const TRACEPOINT: u64 = 2;
/// `disabled` of `struct perf_event_attr`: until it has its filter, others would be counted.
const DISABLED: u64 = 1;
/// PERF_EVENT_IOC_ENABLE.
const ENABLE: libc::Ioctl = 0x2400;
/// PERF_FLAG_FD_CLOEXEC of linux/perf_event.h.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
/// PERF_EVENT_IOC_SET_FILTER: `_IOW('$', 6, char *)`.
const SET_FILTER: libc::Ioctl = 0x4008_2406_u32 as libc::Ioctl;
/// How long a thread of the kernel may take to begin before it is not waited for any more.
const LONGEST_START: Duration = Duration::from_secs(1);
/// What the kernel numbers threads by in its filters (PROC_PID_INIT_INO).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Counts the requests that a ring hands to io-wq.
#[derive(Debug)]
pub struct PuntCounter {
    /// One for each CPU.
    events: Vec<OwnedFd>,
}

impl PuntCounter {
    /// A counter of what the calling thread submits to a ring, or the kernel's thread that polls for it; None where kernel and
    /// privileges allow none.
    pub fn open(ring: RawFd, is_polled: bool) -> Option<Self> {
        let point = TRACING.iter().find_map(|tracing| {
            let text = fs::read_to_string(format!("{tracing}/events/io_uring/io_uring_queue_async_work/id")).ok()?;
            text.trim().parse::<u64>().ok()
        })?;
        if fs::read_link("/proc/self/ns/pid").ok()?.as_os_str() != FIRST_NAMESPACE {
            return None;
        }
        let thread = if is_polled { polling_thread(ring)? } else { thread_id() };
        let events = online_cpus().into_iter().map(|cpu| count_on(cpu, point, thread)).collect::<Option<Vec<_>>>()?;
        (!events.is_empty()).then_some(Self { events })
    }

    /// Requests so far.
    pub fn read(&self) -> Option<u64> {
        self.events.iter().map(read_count).sum()
    }
}

/// The kernel's thread that submits for a ring. Until it has begun, the ring gives its maker's number instead.
fn polling_thread(ring: RawFd) -> Option<i32> {
    let end = Instant::now() + LONGEST_START;
    while Instant::now() < end {
        let text = fs::read_to_string(format!("/proc/thread-self/fdinfo/{ring}")).ok()?;
        let number: i32 = text.lines().find_map(|line| line.strip_prefix("SqThread:"))?.trim().parse().ok()?;
        if number > 0 && number != thread_id() {
            return Some(number);
        }
        thread::sleep(Duration::from_millis(1));
    }
    None
}

/// Count a tracepoint on a CPU, where a thread meets it.
fn count_on(cpu: u32, point: u64, thread: i32) -> Option<OwnedFd> {
    let mut attributes = [0_u64; 16];
    attributes[0] = TRACEPOINT | (size_of_val(&attributes) as u64) << 32;
    attributes[1] = point;
    attributes[5] = DISABLED;
    // SAFETY: the attributes are as long as their size field says and outlive the call.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), -1, cpu, -1, CLOSE_ON_EXEC) };
    if fd < 0 {
        return None;
    }
    // SAFETY: a new descriptor that nobody else has.
    let event = unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
    let filter = std::ffi::CString::new(format!("common_pid == {thread}")).ok()?;
    // SAFETY: the filter ends with a zero and outlives the call.
    let set = unsafe { libc::ioctl(event.as_raw_fd(), SET_FILTER, filter.as_ptr()) };
    // SAFETY: no memory is passed.
    let is_on = set == 0 && unsafe { libc::ioctl(event.as_raw_fd(), ENABLE, 0) } == 0;
    is_on.then_some(event)
}

fn read_count(event: &OwnedFd) -> Option<u64> {
    let mut count = 0_u64;
    // SAFETY: room for the eight bytes of a plain counter.
    let got = unsafe { libc::read(event.as_raw_fd(), (&raw mut count).cast(), 8) };
    (got == 8).then_some(count)
}

/// Whether this process is known to have no io-wq thread now.
pub fn has_no_io_wq() -> bool {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return false };
    // A thread may end between the two reads.
    let names = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    !names.into_iter().any(|name| name.starts_with("iou-wrk-"))
}
