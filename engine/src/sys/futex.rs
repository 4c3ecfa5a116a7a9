//! Waiting for a number to change, and waking who waits: futex(2), also between processes.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleep while the number is `seen`, at most so long if a time is given. A return means to look again: it changed, the time is
/// over, or a signal came.
pub fn wait(value: &AtomicU32, seen: u32, at_most: Option<Duration>) {
    let timeout = at_most.map(|time| libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the address is that of a live 32-bit number; a timeout lives through the call.
    unsafe { libc::syscall(libc::SYS_futex, value.as_ptr(), libc::FUTEX_WAIT, seen, timeout) };
}

/// Wake all who wait for the number to change, in whatever process.
pub fn wake_all(value: &AtomicU32) {
    // SAFETY: the address is that of a live 32-bit number. Not FUTEX_PRIVATE: processes may wait.
    unsafe { libc::syscall(libc::SYS_futex, value.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
