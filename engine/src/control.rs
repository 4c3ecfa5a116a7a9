//! What reaches the main thread: control lines from outside, reports from the workers.

use crate::error::EngineError;
use crate::events::Control;
use crate::shared::{Shareable, SharedBox};
use crate::worker::Ended;
use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::Sender;

/// A message to the main thread.
#[derive(Debug)]
pub enum Message {
    /// A line of standard input.
    Control(Control),
    /// A line of standard input that is no control.
    Unreadable(String),
    /// A worker holds its files; its thread.
    Ready {
        /// Position in the phase's list of workers.
        worker: usize,
        /// Kernel thread.
        tid: i32,
    },
    /// A worker could not get ready.
    Failed(EngineError),
    /// A worker has stopped and waits to be released.
    Done {
        /// Position in the phase's list of workers.
        worker: usize,
        /// How it ended.
        ended: Ended,
    },
    /// A worker's process is gone without a word.
    Lost {
        /// Position in the phase's list of workers.
        worker: usize,
        /// How it ended, in words.
        how: String,
    },
}

/// Read control lines until the input ends. The end means that nobody listens any more, which is a stop: the flag lets
/// long work outside the phases end too.
pub fn listen(input: impl BufRead, messages: &Sender<Message>, stop: &AtomicBool) {
    for line in input.lines() {
        let Ok(line) = line else { break };
        if line.trim().is_empty() {
            continue;
        }
        let message = match serde_json::from_str::<Control>(&line) {
            Ok(control) => {
                if control == (Control::Stop {}) {
                    stop.store(true, Ordering::Relaxed);
                }
                Message::Control(control)
            }
            Err(error) => Message::Unreadable(error.to_string()),
        };
        if messages.send(message).is_err() {
            return;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let _ = messages.send(Message::Control(Control::Stop {}));
}

/// Take TERM, INT and HUP as a stop, so that data is removed when a session or a service ends with all its processes;
/// a second one ends the engine at once. Call it before any other thread is made: they inherit that the signals wait.
pub fn listen_to_signals(messages: Sender<Message>, stop: Arc<AtomicBool>) {
    // SAFETY: the set is initialised by sigemptyset before it is used, and lives through each call.
    let signals = unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        for number in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&raw mut signals, number);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        signals
    };
    let wait = move || {
        let mut number = 0;
        // SAFETY: both pointers are to live values of the right type.
        unsafe { libc::sigwait(&raw const signals, &raw mut number) };
        number
    };
    std::thread::spawn(move || {
        wait();
        stop.store(true, Ordering::Relaxed);
        let _ = messages.send(Message::Control(Control::Stop {}));
        let number = wait();
        std::process::exit(128 + number);
    });
}

/// A door that opens once, with a value for everybody who waits, in whatever process.
#[derive(Debug, Clone)]
pub struct Gate(Arc<SharedBox<Door>>);

#[derive(Debug)]
struct Door {
    is_open: AtomicU32,
    value: AtomicU64,
}

// SAFETY: atomic numbers only; zero is closed.
unsafe impl Shareable for Door {}

impl Gate {
    /// A closed door.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn closed() -> io::Result<Self> {
        Ok(Self(Arc::new(SharedBox::zeroed()?)))
    }

    /// Let everybody through with `value`; the first call counts. Only the engine's main thread opens.
    pub fn open(&self, value: u64) {
        if self.0.is_open.load(Ordering::Relaxed) == 0 {
            self.0.value.store(value, Ordering::Relaxed);
            self.0.is_open.store(1, Ordering::Release);
        }
        // SAFETY: the address of a number that lives across the call. Not FUTEX_PRIVATE: processes may wait.
        unsafe { libc::syscall(libc::SYS_futex, self.0.is_open.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// Wait for the value.
    pub fn wait(&self) -> u64 {
        while self.0.is_open.load(Ordering::Acquire) == 0 {
            let no_timeout = std::ptr::null::<libc::timespec>();
            // SAFETY: as in `open`; the kernel sleeps only while the number is still 0.
            unsafe { libc::syscall(libc::SYS_futex, self.0.is_open.as_ptr(), libc::FUTEX_WAIT, 0, no_timeout) };
        }
        self.0.value.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_lets_those_who_wait_and_those_who_come_later_through_with_the_first_value() {
        let gate = Gate::closed().unwrap();
        let waiting = std::thread::spawn({
            let gate = gate.clone();
            move || gate.wait()
        });

        gate.open(7);
        gate.open(8);

        assert_eq!((waiting.join().unwrap(), gate.wait()), (7, 7));
    }
}
