//! Did this client stand still?
//!
//! A machine that was suspended, a control group or a virtual machine that was frozen, an engine that somebody stopped
//! (SIGSTOP): nothing is measured meanwhile, and what comes back afterwards took the pause's time and not the storage's.
//!
//! The main thread sleeps between its looks, each time for a quarter of a second at most. By CLOCK_BOOTTIME, which goes on
//! while a machine is suspended, it is seen how much longer that took than was asked for. What it was on a CPU, or ready and
//! waiting for one (schedstat), is no pause: a busy machine is late too. The rest nobody but a pause took.
//!
//! Limits: a pause that falls into the work of the main thread between two sleeps is not seen, nor one in which all clocks
//! of a virtual machine were stopped. Where the kernel has no schedstat, a wait for the CPU of more than [`LEAST_NS`]
//! looks like one.

use super::procfile::ProcFile;
use super::task::{SCHEDSTAT_COUNTS, thread_cpu_ns};
use crate::clock::read_ns;

/// Shorter ones are not distinguished from what timers and schedulers take.
pub const LEAST_NS: u64 = 250_000_000;

/// Watches the thread that made it.
pub struct Pauses {
    schedstat: Option<ProcFile>,
    begun: Reading,
}

/// What the clocks show.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    /// CLOCK_BOOTTIME.
    boot_ns: u64,
    /// On a CPU, or ready and waiting for one, since the thread began.
    busy_ns: u64,
}

impl Pauses {
    /// Watch the thread that calls.
    pub fn of_this_thread() -> Self {
        let schedstat = ProcFile::open("/proc/thread-self/schedstat").filter(|_| *SCHEDSTAT_COUNTS);
        let mut pauses = Self { schedstat, begun: Reading::default() };
        pauses.begin();
        pauses
    }

    /// A sleep begins.
    pub fn begin(&mut self) {
        self.begun = self.read();
    }

    /// How long the thread was paused since `begin`, beside its sleep of `asked_ns`; None: too short to report.
    pub fn since_begin(&self, asked_ns: u64) -> Option<u64> {
        if read_ns(libc::CLOCK_BOOTTIME).saturating_sub(self.begun.boot_ns) < asked_ns + LEAST_NS {
            return None;
        }
        stood_still(self.begun, self.read(), asked_ns)
    }

    fn read(&self) -> Reading {
        Reading { boot_ns: read_ns(libc::CLOCK_BOOTTIME), busy_ns: self.busy_ns() }
    }

    fn busy_ns(&self) -> u64 {
        let mut text = [0; 128];
        let times = self.schedstat.as_ref().and_then(|file| {
            let text = file.read_head(&mut text)?;
            let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
            Some(numbers.next()? + numbers.next()?)
        });
        times.unwrap_or_else(thread_cpu_ns)
    }
}

/// What is left of the time between two readings for a pause.
fn stood_still(begun: Reading, ended: Reading, asked_ns: u64) -> Option<u64> {
    let gone_ns = ended.boot_ns.saturating_sub(begun.boot_ns);
    let busy_ns = ended.busy_ns.saturating_sub(begun.busy_ns);
    Some(gone_ns.saturating_sub(asked_ns + busy_ns)).filter(|&still_ns| still_ns >= LEAST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn reading(boot_ns: u64, busy_ns: u64) -> Reading {
        Reading { boot_ns, busy_ns }
    }

    #[test]
    fn what_nobody_asked_for_and_no_cpu_took_is_a_pause() {
        let begun = reading(100 * SECOND_NS, 7);
        let paused = stood_still(begun, reading(108 * SECOND_NS, 7 + SECOND_NS), SECOND_NS / 4);

        assert_eq!(paused, Some(8 * SECOND_NS - SECOND_NS - SECOND_NS / 4));
    }

    #[test]
    fn a_sleep_as_asked_for_and_a_wait_for_a_busy_cpu_are_none() {
        let begun = reading(100 * SECOND_NS, 7);
        let as_asked = stood_still(begun, reading(108 * SECOND_NS, 7), 8 * SECOND_NS);
        let starved = stood_still(begun, reading(108 * SECOND_NS, 7 + 8 * SECOND_NS), SECOND_NS / 4);
        let late_by_a_little = stood_still(begun, reading(100 * SECOND_NS + LEAST_NS, 7), 1);

        assert_eq!([as_asked, starved, late_by_a_little], [None; 3]);
    }

    #[test]
    fn the_thread_itself_is_watched() {
        let mut pauses = Pauses::of_this_thread();
        std::thread::sleep(std::time::Duration::from_nanos(LEAST_NS));
        // As if no sleep had been asked for; a busy machine may only have taken from it what schedstat counts.
        let busy_ns = pauses.busy_ns() - pauses.begun.busy_ns;
        let unasked = pauses.since_begin(0);
        assert!(unasked.is_some() || busy_ns > 0, "{unasked:?}");

        pauses.begin();
        assert_eq!(pauses.since_begin(u64::MAX / 2), None);
    }
}
