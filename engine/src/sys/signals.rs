//! Signals that are waited for, or ignored.

use std::mem::MaybeUninit;

/// Signals that wait until they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Waiting(libc::sigset_t);

impl Waiting {
    /// Let signals wait, for the calling thread and those that it makes from now on.
    pub fn block(numbers: &[libc::c_int]) -> Self {
        let mut signals = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is initialised by sigemptyset before it is used, and lives through each call.
        unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            for &number in numbers {
                libc::sigaddset(signals.as_mut_ptr(), number);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), std::ptr::null_mut());
            Self(signals.assume_init())
        }
    }

    /// Sleep until one of them comes: its number.
    pub fn wait(&self) -> libc::c_int {
        let mut number = 0;
        // SAFETY: both pointers are to live values of the right type.
        unsafe { libc::sigwait(&raw const self.0, &raw mut number) };
        number
    }
}

/// Let a signal have no effect.
pub fn ignore(number: libc::c_int) {
    // SAFETY: the disposition is the kernel's own.
    unsafe { libc::signal(number, libc::SIG_IGN) };
}
