//! How busy are the CPUs? Sources `cpu` (all of them together) and `load`, one instance each.
//!
//! First line of /proc/stat: ticks of 1/CLK_TCK s, usually 10 ms, as nanoseconds. `user_ns` and `nice_ns` hold the time of
//! guests too. `iowait_ns` is idle time in which some task waited for block I/O: a hint, not a measure, for that task
//! belongs to no CPU while it waits (kernel: Documentation/filesystems/proc.rst). /proc/loadavg: tasks that run or could
//! run now (ours among them), and the 1-minute load, which on Linux counts uninterruptible waits as well.

use super::procfile::ProcFile;
use crate::events::HostSample;
use crate::sys::posix;

const FIELDS: [&str; 8] =
    ["user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns"];
/// Enough for the first line; the rest, which grows with CPUs and interrupts, is not fetched.
const HEAD_BYTES: usize = 256;

/// /proc/stat and /proc/loadavg.
pub(super) struct Cpu {
    stat: Option<ProcFile>,
    loadavg: Option<ProcFile>,
    ns_per_tick: f64,
}

/// Nanoseconds of one tick of the times in /proc.
pub(super) fn ns_per_tick() -> f64 {
    1e9 / posix::system_number(libc::_SC_CLK_TCK) as f64
}

impl Cpu {
    /// Those that are there.
    pub fn open() -> Self {
        Self {
            stat: ProcFile::open("/proc/stat"),
            loadavg: ProcFile::open("/proc/loadavg"),
            ns_per_tick: ns_per_tick(),
        }
    }

    /// Both.
    pub fn sample(&self, text: &mut Vec<u8>, samples: &mut Vec<HostSample>) {
        text.resize(text.len().max(HEAD_BYTES), 0);
        if let Some(head) = self.stat.as_ref().and_then(|file| file.read_head(&mut text[..HEAD_BYTES])) {
            samples.extend(cpu(&head, self.ns_per_tick));
        }
        if let Some(head) = self.loadavg.as_ref().and_then(|file| file.read_head(&mut text[..HEAD_BYTES])) {
            samples.extend(load(&head));
        }
    }
}

/// The line `cpu  user nice system idle iowait irq softirq steal ...`.
fn cpu(stat: &str, ns_per_tick: f64) -> Option<HostSample> {
    let ticks = stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    let numbers = ticks.map_while(|word| word.parse::<u64>().ok()).map(|ticks| ticks as f64 * ns_per_tick);
    Some(HostSample::new("cpu", "", FIELDS.into_iter().zip(numbers)))
}

/// The line `load1 load5 load15 running/all last_pid`.
fn load(loadavg: &str) -> Option<HostSample> {
    let mut words = loadavg.split_ascii_whitespace();
    let load1: f64 = words.next()?.parse().ok()?;
    let running: u64 = words.nth(2)?.split_once('/')?.0.parse().ok()?;
    Some(HostSample::new("load", "", [("running", running as f64), ("load1", load1)].into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_in_the_order_of_the_kernel() {
        let sample = cpu("cpu  8065 71 4044 1205713 303 5 61 129 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n", 1e7).unwrap();

        let expected = [8065.0, 71.0, 4044.0, 1_205_713.0, 303.0, 5.0, 61.0, 129.0];
        assert_eq!(sample.values.len(), FIELDS.len());
        for (name, ticks) in FIELDS.into_iter().zip(expected) {
            assert_eq!(sample.values[name], ticks * 1e7, "{name}");
        }
    }

    #[test]
    fn load_has_the_running_tasks_and_the_minute() {
        let sample = load("1.54 0.98 0.40 3/178 8123\n").unwrap();

        assert_eq!((sample.values["running"], sample.values["load1"]), (3.0, 1.54));
    }

    #[test]
    fn cpu_time_of_this_process_shows_up_as_busy_time_of_the_machine() {
        let all = Cpu::open();
        let busy_ns = || -> f64 {
            let mut samples = Vec::new();
            all.sample(&mut Vec::new(), &mut samples);
            let values = &samples.iter().find(|sample| sample.source == "cpu").unwrap().values;
            ["user_ns", "nice_ns", "system_ns", "irq_ns", "softirq_ns", "steal_ns"]
                .iter()
                .map(|name| values[*name])
                .sum()
        };
        let before = busy_ns();
        let start = super::super::task::thread_cpu_ns();

        while super::super::task::thread_cpu_ns() - start < 200_000_000 {
            std::hint::spin_loop();
        }

        // The kernel samples at ticks; what it sees is near 0.2 s and others only add to it.
        assert!(busy_ns() - before >= 100e6);
    }
}
