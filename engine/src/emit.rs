//! The way out: events as lines on standard output, from any thread.

use crate::clock::Clock;
use crate::events::Event;
use crate::warning_id::WarningId;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Writes events; cheap to clone, one line is never cut by another.
#[derive(Clone)]
pub struct Emitter {
    clock: Clock,
    out: Arc<Mutex<Out>>,
}

struct Out {
    writer: Box<dyn Write + Send>,
    on_failure: Box<dyn Fn() + Send>,
    failure: Option<io::Error>,
}

impl Emitter {
    /// Events go to `out`.
    pub fn new(clock: Clock, out: impl Write + Send + 'static) -> Self {
        Self::with_alarm(clock, out, || {})
    }

    /// Events go to `out`; `on_failure` is called once, when that takes no more.
    pub fn with_alarm(clock: Clock, out: impl Write + Send + 'static, on_failure: impl Fn() + Send + 'static) -> Self {
        let out = Out { writer: Box::new(out), on_failure: Box::new(on_failure), failure: None };
        Self { clock, out: Arc::new(Mutex::new(out)) }
    }

    /// Why nothing is written any more; the second call gives `None`.
    pub fn take_failure(&self) -> Option<io::Error> {
        self.lock().failure.take()
    }

    fn lock(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run's clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Nanoseconds since the engine began.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Write one line. What cannot be recorded need not be measured, so the first failure raises the alarm; it is no
    /// reason to stop cleaning up. Nothing follows it, because the line that failed may be there by half.
    pub fn emit(&self, event: &Event) {
        let mut line = serde_json::to_vec(event).expect("events hold nothing that JSON cannot");
        line.push(b'\n');
        let mut out = self.lock();
        if out.failure.is_some() {
            return;
        }
        if let Err(error) = out.writer.write_all(&line).and_then(|()| out.writer.flush()) {
            out.failure = Some(error);
            (out.on_failure)();
        }
    }

    /// Report that something can move the numbers.
    pub fn warn(&self, phase_index: Option<u32>, warning: WarningId, text: impl Into<String>) {
        self.emit(&Event::Warning {
            t_ns: self.now_ns(),
            phase_index,
            id: warning.id().to_owned(),
            severity: warning.severity(),
            text: text.into(),
            cure: warning.cure().to_owned(),
        });
    }

    /// Says how far something long has come: what is done, all of it, and the unit.
    pub fn reporter(&self, activity: String) -> impl Fn(u64, u64, &str) + Sync {
        move |done, total, unit: &str| {
            let (t_ns, activity, unit) = (self.now_ns(), activity.clone(), unit.to_owned());
            self.emit(&Event::Progress { t_ns, activity, done, total, unit });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Takes `full_at` writes, then is full, then has room again.
    struct Full {
        writes: Arc<AtomicUsize>,
        full_at: usize,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let is_full = self.writes.fetch_add(1, SeqCst) == self.full_at;
            if is_full { Err(io::Error::from_raw_os_error(libc::ENOSPC)) } else { Ok(bytes.len()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_line_that_cannot_be_written_raises_the_alarm_and_is_the_last() {
        let (writes, alarms) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let rung = Arc::clone(&alarms);
        let out = Full { writes: Arc::clone(&writes), full_at: 1 };
        let emitter = Emitter::with_alarm(Clock::start(), out, move || {
            rung.fetch_add(1, SeqCst);
        });

        for _ in 0..4 {
            emitter.warn(None, WarningId::Stalled, "text");
        }

        assert_eq!((writes.load(SeqCst), alarms.load(SeqCst)), (2, 1));
        assert_eq!(emitter.take_failure().and_then(|error| error.raw_os_error()), Some(libc::ENOSPC));
    }
}
