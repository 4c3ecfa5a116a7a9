//! What reaches the main thread: control lines from outside, reports from the workers.

use crate::error::{EngineError, Result};
use crate::events::Control;
use crate::job::{Ended, JobShared};
use crate::plan::Plan;
use crate::sys::process;
use crate::sys::signals::Waiting;
use std::cell::Cell;
use std::io;
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// A message to the main thread.
#[derive(Debug)]
pub enum Message {
    /// The first line of standard input, or why it is no Plan.
    Plan(std::result::Result<Box<Plan>, String>),
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
    /// A worker is gone without an end: its process has died, or it has panicked.
    Lost {
        /// Position in the phase's list of workers.
        worker: usize,
        /// What of it ended and how, in words.
        how: String,
    },
}

/// What has come for the main thread, and what it received once for all phases.
#[derive(Debug)]
pub struct Inbox {
    messages: Receiver<Message>,
    starts_when_ready: Cell<bool>,
}

impl Inbox {
    /// Nothing has come yet.
    pub fn new(messages: Receiver<Message>) -> Self {
        Self { messages, starts_when_ready: Cell::new(false) }
    }

    /// The next message; None once `at_most` has passed, if there is such a bound.
    ///
    /// # Errors
    ///
    /// Nobody is left who could send one.
    pub fn receive(&self, at_most: Option<Duration>) -> Result<Option<Message>> {
        let received = match at_most {
            Some(at_most) => self.messages.recv_timeout(at_most),
            None => self.messages.recv().map_err(RecvTimeoutError::from),
        };
        match received {
            Ok(message) => {
                if matches!(message, Message::Control(Control::StartWhenReady {})) {
                    self.starts_when_ready.set(true);
                }
                Ok(Some(message))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(EngineError::Environment("standard input and all workers are gone".into()))
            }
        }
    }

    /// Whether phases start as soon as they are ready.
    pub fn starts_when_ready(&self) -> bool {
        self.starts_when_ready.get()
    }
}

/// A stop from outside, for all that the main thread may be at: a message for the phases, a flag for long work between them,
/// and a wake-up for its sleep. Workers hear it without the main thread, which waits where nobody reads its events.
#[derive(Clone)]
pub struct Stopper {
    messages: Sender<Message>,
    flag: Arc<AtomicBool>,
    main: Thread,
    jobs: Arc<Mutex<Vec<Arc<JobShared>>>>,
}

impl Stopper {
    /// Made by the main thread.
    pub fn new(messages: Sender<Message>) -> Self {
        Self { messages, flag: Arc::default(), main: std::thread::current(), jobs: Arc::default() }
    }

    /// Whether to stop.
    pub fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// Stop. Whether anybody is left to hear it.
    pub fn stop(&self) -> bool {
        self.flag.store(true, Ordering::Relaxed);
        self.main.unpark();
        // The main thread is to know why before the first worker says that it has stopped.
        let is_heard = self.messages.send(Message::Control(Control::Stop {})).is_ok();
        self.jobs().iter().for_each(|job| job.stop());
        is_heard
    }

    /// Have the workers of these jobs, and of no others, stop at once when a stop comes.
    pub fn relay_to(&self, jobs: Vec<Arc<JobShared>>) {
        let mut relayed = self.jobs();
        *relayed = jobs;
        if self.flag.load(Ordering::Relaxed) {
            relayed.iter().for_each(|job| job.stop());
        }
    }

    fn jobs(&self) -> MutexGuard<'_, Vec<Arc<JobShared>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sleep, on the main thread, until then or until a stop. Whether it slept to the end.
pub fn sleep_until(until: Instant, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::park_timeout(left);
    }
}

/// Read the Plan, then control lines until the input ends. The end means that nobody listens any more, which is a stop.
pub fn listen(mut input: impl BufRead, messages: &Sender<Message>, stopper: &Stopper) {
    let _ = messages.send(Message::Plan(read_plan(&mut input)));
    for line in input.lines() {
        let Ok(line) = line else { break };
        if line.trim().is_empty() {
            continue;
        }
        let is_heard = match serde_json::from_str(&line) {
            Ok(Control::Stop {}) => stopper.stop(),
            Ok(control) => messages.send(Message::Control(control)).is_ok(),
            Err(error) => messages.send(Message::Unreadable(error.to_string())).is_ok(),
        };
        if !is_heard {
            return;
        }
    }
    stopper.stop();
}

fn read_plan(input: &mut impl BufRead) -> std::result::Result<Box<Plan>, String> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| format!("the Plan could not be read: {error}"))?;
    if line.trim().is_empty() {
        return Err("standard input ended before a Plan came".to_owned());
    }
    serde_json::from_str(&line).map_err(|error| format!("the Plan could not be read: {error}"))
}

/// Take TERM, INT and HUP as a stop, so that data is removed when a session or a service ends with all its processes;
/// a second one ends the engine at once. Call it before any other thread is made: they inherit that the signals wait.
///
/// # Errors
///
/// No thread could be made for it; then the signals wait for ever.
pub fn listen_to_signals(stopper: Stopper) -> io::Result<()> {
    let signals = Waiting::block(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP]);
    let listener = std::thread::Builder::new().spawn(move || {
        signals.wait();
        stopper.stop();
        let number = signals.wait();
        process::leave(128 + number);
    });
    listener.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_ends_a_sleep() {
        let (sender, messages) = std::sync::mpsc::channel();
        let stopper = Stopper::new(sender);
        let now = Instant::now();
        assert!(sleep_until(now + Duration::from_millis(5), stopper.flag()));
        assert!(now.elapsed() >= Duration::from_millis(5));

        let other = stopper.clone();
        let stopping = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            other.stop()
        });
        let slept = sleep_until(now + Duration::from_secs(600), stopper.flag());

        assert_eq!((slept, stopping.join().unwrap()), (false, true));
        assert!(now.elapsed() < Duration::from_secs(600));
        assert!(matches!(messages.recv().unwrap(), Message::Control(Control::Stop {})));
    }
}
