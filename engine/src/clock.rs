//! The run's time: nanoseconds of CLOCK_MONOTONIC since the engine's hello.

use crate::sys::time;
pub use crate::sys::time::read_ns;

/// What a worker needs of time. It is a trait for tests alone, which set a clock of their own and so know each latency exactly.
pub trait Ticks {
    /// Nanoseconds since zero.
    fn now_ns(&self) -> u64;

    /// Sleep until `t_ns` and no longer spin: late by what the timer and the scheduler take. A signal may end it early.
    fn nap_until(&self, t_ns: u64);

    /// Keep the CPU busy until `t_ns`.
    fn burn_until(&self, t_ns: u64);
}

/// Time since the engine began. `Copy`, so that every thread has its own.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    monotonic_at_zero_ns: u64,
    realtime_at_zero_ns: u64,
}

impl Clock {
    /// Make this moment zero.
    pub fn start() -> Self {
        Self {
            monotonic_at_zero_ns: read_ns(libc::CLOCK_MONOTONIC),
            realtime_at_zero_ns: read_ns(libc::CLOCK_REALTIME),
        }
    }

    /// Nanoseconds since zero.
    #[inline]
    pub fn now_ns(self) -> u64 {
        read_ns(libc::CLOCK_MONOTONIC) - self.monotonic_at_zero_ns
    }

    /// CLOCK_MONOTONIC at zero.
    pub fn monotonic_at_zero_ns(self) -> u64 {
        self.monotonic_at_zero_ns
    }

    /// CLOCK_REALTIME at zero.
    pub fn realtime_at_zero_ns(self) -> u64 {
        self.realtime_at_zero_ns
    }

    /// The run's time of a CLOCK_MONOTONIC instant; what lies before zero gives zero.
    pub fn from_monotonic_ns(self, at_monotonic_ns: u64) -> u64 {
        at_monotonic_ns.saturating_sub(self.monotonic_at_zero_ns)
    }

    /// Sleep until `t_ns`, waking a little early and spinning the rest, so that all workers leave together.
    pub fn sleep_until(self, t_ns: u64) {
        const SPIN_NS: u64 = 200_000;
        loop {
            let now = self.now_ns();
            if now >= t_ns {
                return;
            }
            let left = t_ns - now;
            if left > SPIN_NS {
                std::thread::sleep(std::time::Duration::from_nanos(left - SPIN_NS));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

impl Ticks for Clock {
    #[inline]
    fn now_ns(&self) -> u64 {
        Self::now_ns(*self)
    }

    fn nap_until(&self, t_ns: u64) {
        time::sleep_until(self.monotonic_at_zero_ns.saturating_add(t_ns));
    }

    fn burn_until(&self, t_ns: u64) {
        while Self::now_ns(*self) < t_ns {
            std::hint::spin_loop();
        }
    }
}

/// A clock that moves only when it is asked to: it sleeps in no time, exactly as long as it is asked to.
#[cfg(test)]
#[derive(Debug, Clone, Default)]
pub(crate) struct StillClock(std::rc::Rc<std::cell::Cell<u64>>);

#[cfg(test)]
impl Ticks for StillClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }

    fn nap_until(&self, t_ns: u64) {
        self.0.set(self.0.get().max(t_ns));
    }

    fn burn_until(&self, t_ns: u64) {
        self.nap_until(t_ns);
    }
}
