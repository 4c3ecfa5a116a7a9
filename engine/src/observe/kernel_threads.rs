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

use super::growth::Growth;
use super::look::Look;
use super::procfile::ProcFile;
use super::task::SCHEDSTAT_COUNTS;
use crate::events::HostSample;
use std::fs;
use std::time::Instant;

const KTHREADD: &str = "/proc/2";
/// Of one CPU, at most, that looking may take.
const MOST_SHARE: f64 = 0.0025;

/// All threads of the kernel together.
pub(super) struct KernelThreads {
    children: ProcFile,
    on_cpu_ns: Growth,
    opened: Instant,
    last: Option<Look>,
}

impl KernelThreads {
    /// None where they are not seen.
    pub fn open() -> Option<Self> {
        let is_there = fs::read_to_string(format!("{KTHREADD}/comm")).is_ok_and(|name| name.trim() == "kthreadd");
        let children =
            ProcFile::open(format!("{KTHREADD}/task/2/children")).filter(|_| is_there && *SCHEDSTAT_COUNTS)?;
        Some(Self { children, on_cpu_ns: Growth::default(), opened: Instant::now(), last: None })
    }

    /// `on_cpu_ns` and `looked_ns`, both totals since the start.
    pub fn sample(&mut self, text: &mut Vec<u8>, samples: &mut Vec<HostSample>) {
        if self.last.as_ref().is_none_or(|look| look.is_over(MOST_SHARE)) {
            self.look(text);
        }
        if let Some(look) = &self.last {
            let looked_ns = look.at.duration_since(self.opened).as_nanos() as f64;
            let values = [("on_cpu_ns", self.on_cpu_ns.total as f64), ("looked_ns", looked_ns)];
            samples.push(HostSample::new("kernel_threads", "", values.into_iter()));
        }
    }

    fn look(&mut self, text: &mut Vec<u8>) {
        let at = Instant::now();
        let Some(list) = self.children.read(text) else { return };
        let numbers: Vec<u32> = list.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect();
        let counts = numbers.into_iter().filter_map(|number| Some((number, on_cpu_ns(number, text)?))).collect();
        self.on_cpu_ns.add(counts);
        self.last = Some(Look { at, took: at.elapsed() });
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
    use std::time::Duration;

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
