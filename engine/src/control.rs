//! What reaches the main thread: control lines from outside, reports from the workers.

use crate::error::EngineError;
use crate::events::Control;
use crate::worker::Ended;
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

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
                    stop.store(true, Relaxed);
                }
                Message::Control(control)
            }
            Err(error) => Message::Unreadable(error.to_string()),
        };
        if messages.send(message).is_err() {
            return;
        }
    }
    stop.store(true, Relaxed);
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
        stop.store(true, Relaxed);
        let _ = messages.send(Message::Control(Control::Stop {}));
        let number = wait();
        std::process::exit(128 + number);
    });
}

/// A door that opens once, with a value for everybody who waits.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<(Mutex<Option<u64>>, Condvar)>);

impl Gate {
    /// Let everybody through with `value`; the first call counts.
    pub fn open(&self, value: u64) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(value);
        self.0.1.notify_all();
    }

    /// Wait for the value.
    pub fn wait(&self) -> u64 {
        let mut value = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *value {
                Some(value) => return value,
                None => value = self.0.1.wait(value).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}
