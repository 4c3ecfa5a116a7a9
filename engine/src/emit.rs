//! The way out: events as lines on standard output, from any thread.

use crate::clock::Clock;
use crate::events::Event;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Writes events; cheap to clone, one line is never cut by another.
#[derive(Clone)]
pub struct Emitter {
    clock: Clock,
    out: Arc<Mutex<Box<dyn Write + Send>>>,
}

impl Emitter {
    /// Events go to `out`.
    pub fn new(clock: Clock, out: impl Write + Send + 'static) -> Self {
        Self { clock, out: Arc::new(Mutex::new(Box::new(out))) }
    }

    /// The run's clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Nanoseconds since the engine began.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Write one line. A reader that has gone away is no reason to stop cleaning up, so failure to write is ignored:
    /// the end of standard input is what tells the engine that nobody listens.
    pub fn emit(&self, event: &Event) {
        let mut line = serde_json::to_vec(event).expect("events hold nothing that JSON cannot");
        line.push(b'\n');
        let mut out = self.out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }

    /// Say that something can move the numbers.
    pub fn warn(&self, phase_index: Option<u32>, id: &str, text: impl Into<String>) {
        self.emit(&Event::Warning { t_ns: self.now_ns(), phase_index, id: id.to_owned(), text: text.into() });
    }

    /// Say how far something long has come.
    pub fn progress(&self, activity: &str, done: u64, total: u64, unit: &str) {
        self.emit(&Event::Progress {
            t_ns: self.now_ns(),
            activity: activity.to_owned(),
            done,
            total,
            unit: unit.to_owned(),
        });
    }
}
