//! How busy are the kernel's own threads? Source `kernel_threads`, one instance.
//!
//! Threads of the kernel checksum, encrypt, compress, write back and commit what programs asked for, on the same CPUs. The
//! machine's CPU time holds theirs and that of programs alike; only each thread's own count distinguishes them: the first
//! number of /proc/PID/schedstat of every child of kthreadd (process 2), whose list is in /proc/2/task/2/children.
//!
//! There can be thousands, so looks at them take at most [`MOST_SHARE`] of a CPU: sixty are looked at every 0.1 s or so, a
//! thousand every few seconds. Between two looks the last is reported again. `looked_ns` is the time of the look, so that both
//! values grow over the same time. A thread that ended takes with it what it did since the last look. Absent in a container,
//! which does not see the kernel's threads, and on a kernel without these counts (CONFIG_SCHED_INFO, CONFIG_PROC_CHILDREN).

use super::procfile::ProcFile;
use super::task::SCHEDSTAT_COUNTS;
use crate::events::HostSample;
use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

const KTHREADD: &str = "/proc/2";
/// Of one CPU, at most, that looking may take.
const MOST_SHARE: f64 = 0.0025;

/// All threads of the kernel together.
pub(super) struct KernelThreads {
    children: ProcFile,
    total: Total,
    opened: Instant,
    last: Option<Look>,
}

struct Look {
    at: Instant,
    /// How long looking took.
    took: Duration,
}

/// What threads ran for since the first look, added up as they come and go.
#[derive(Default)]
struct Total {
    of_each: HashMap<u32, u64>,
    on_cpu_ns: u64,
}

impl KernelThreads {
    /// None where they are not seen.
    pub fn open() -> Option<Self> {
        let is_there = fs::read_to_string(format!("{KTHREADD}/comm")).is_ok_and(|name| name.trim() == "kthreadd");
        let children =
            ProcFile::open(format!("{KTHREADD}/task/2/children")).filter(|_| is_there && *SCHEDSTAT_COUNTS)?;
        Some(Self { children, total: Total::default(), opened: Instant::now(), last: None })
    }

    /// `on_cpu_ns` and `looked_ns`, both totals since the start.
    pub fn sample(&mut self, text: &mut Vec<u8>, samples: &mut Vec<HostSample>) {
        if self.last.as_ref().is_none_or(Look::is_over) {
            self.look(text);
        }
        if let Some(look) = &self.last {
            let looked_ns = look.at.duration_since(self.opened).as_nanos() as f64;
            let values = [("on_cpu_ns", self.total.on_cpu_ns as f64), ("looked_ns", looked_ns)];
            samples.push(HostSample::new("kernel_threads", "", values.into_iter()));
        }
    }

    fn look(&mut self, text: &mut Vec<u8>) {
        let at = Instant::now();
        let Some(list) = self.children.read(text) else { return };
        let numbers: Vec<u32> = list.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect();
        let counts = numbers.into_iter().filter_map(|number| Some((number, on_cpu_ns(number, text)?))).collect();
        self.total.add(counts);
        self.last = Some(Look { at, took: at.elapsed() });
    }
}

impl Look {
    /// Whether it is time for the next.
    fn is_over(&self) -> bool {
        self.at.elapsed() >= self.took.div_f64(MOST_SHARE)
    }
}

impl Total {
    /// Threads with what each ran for since it began. A number that counts less than before is that of a new thread.
    fn add(&mut self, counts: HashMap<u32, u64>) {
        let known = std::mem::replace(&mut self.of_each, counts);
        if known.is_empty() {
            return;
        }
        for (number, now_ns) in &self.of_each {
            let before_ns = known.get(number).filter(|before_ns| *before_ns <= now_ns).unwrap_or(&0);
            self.on_cpu_ns += now_ns - before_ns;
        }
    }
}

/// Of one thread; None when it has ended.
fn on_cpu_ns(number: u32, text: &mut Vec<u8>) -> Option<u64> {
    let file = ProcFile::open(format!("/proc/{number}/schedstat"))?;
    text.resize(text.len().max(128), 0);
    file.read_head(&mut text[..128])?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_threads_that_come_and_go_is_added_up() {
        let mut total = Total::default();
        let mut after = |counts: &[(u32, u64)]| {
            total.add(counts.iter().copied().collect());
            total.on_cpu_ns
        };

        assert_eq!(after(&[(3, 1_000), (4, 50)]), 0, "what they ran for before the first look is not of the run");
        assert_eq!(after(&[(3, 1_700), (4, 50)]), 700);
        assert_eq!(after(&[(3, 1_700), (9, 30)]), 730, "one ended, one is new");
        assert_eq!(after(&[(3, 1_800), (9, 20)]), 850, "the number 9 is that of another thread");
        assert_eq!(after(&[(3, 1_800), (9, 20)]), 850);
    }

    #[test]
    fn no_look_follows_before_the_cost_of_the_last_is_a_small_share() {
        let look = |ago: u64, took: u64| {
            let at = Instant::now().checked_sub(Duration::from_millis(ago)).expect("the machine runs for longer");
            Look { at, took: Duration::from_millis(took) }
        };

        assert!(look(0, 0).is_over());
        assert!(!look(3_000, 10).is_over(), "10 ms are 0.25 % of 4 s");
        assert!(look(4_100, 10).is_over());
    }

    #[test]
    fn between_two_looks_the_last_is_told_again() {
        let Some(mut threads) = KernelThreads::open() else { return };
        let mut samples = Vec::new();
        threads.sample(&mut Vec::new(), &mut samples);
        threads.last.as_mut().expect("a look").took = Duration::from_secs(3600);

        threads.sample(&mut Vec::new(), &mut samples);

        assert_eq!(samples[0].values, samples[1].values);
        assert_eq!(samples[0].values["on_cpu_ns"], 0.0);
    }
}
