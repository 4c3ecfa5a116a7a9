//! Clocks and sleeps of the kernel.

use std::mem::MaybeUninit;

const NS_PER_S: u64 = 1_000_000_000;

/// A clock that every Linux has, in nanoseconds.
#[inline]
pub fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: there is room for a timespec for the whole call, which fills it: such a clock cannot fail.
    let time = unsafe {
        libc::clock_gettime(clock, time.as_mut_ptr());
        time.assume_init()
    };
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// The clock of a thread or a process in nanoseconds; None where it is gone.
pub fn read_ns_of(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the whole call; a clock that does not exist gives an error.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (answer == 0).then(|| time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64)
}

/// Sleep until CLOCK_MONOTONIC has a value; a signal may end it before.
pub fn sleep_until(at_ns: u64) {
    let until = libc::timespec { tv_sec: (at_ns / NS_PER_S) as i64, tv_nsec: (at_ns % NS_PER_S) as i64 };
    // SAFETY: `until` is a valid timespec; no remainder is asked for.
    unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const until, std::ptr::null_mut())
    };
}

/// Let sleeps of the calling thread end when they are due, not up to 50 us later.
pub fn sleep_exactly() {
    // SAFETY: no memory is passed; a kernel without it keeps its slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
