//! Waiting for a number to change, as futex(2) does, but without a time: who is not woken waits for ever, which loom reports.

use crate::sys::atomic::{AtomicU32, Ordering};
use loom::sync::{Condvar, Mutex};
use std::time::Duration;

loom::lazy_static! {
    /// The kernel's lock for all waiting, and all who wait.
    static ref KERNEL: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
}

/// Sleep while the number is `seen`.
pub fn wait(value: &AtomicU32, seen: u32, _at_most: Option<Duration>) {
    let (lock, woken) = &*KERNEL;
    let held = lock.lock().unwrap();
    // The kernel reads the newest value: so does an addition.
    if value.fetch_add(0, Ordering::SeqCst) == seen {
        drop(woken.wait(held).unwrap());
    }
}

/// Wake all who wait.
pub fn wake_all(_value: &AtomicU32) {
    let (lock, woken) = &*KERNEL;
    let held = lock.lock().unwrap();
    woken.notify_all();
    drop(held);
}
