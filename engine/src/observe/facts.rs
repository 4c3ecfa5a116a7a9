//! Who measures, on what, by which clock?

use crate::clock::{Clock, read_ns};
use crate::events::{ClockFacts, EngineFacts, Event, MachineFacts, Outcome};
use crate::sys::process::Usage;
use crate::sys::{affinity, posix};
use std::fs;
use std::hint::black_box;

/// This program. The compiler's version comes from build.rs; empty if it did not report it.
pub fn engine_facts() -> EngineFacts {
    EngineFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        rustc: option_env!("ASSAY_RUSTC_VERSION").unwrap_or_default().to_owned(),
        pid: std::process::id(),
        uid: posix::user(),
    }
}

/// This machine. `cpus` is those of the affinity mask; a CPU quota shows in the counters of `cgroup`.
pub fn machine_facts() -> MachineFacts {
    let (hostname, kernel) = posix::system_names();
    MachineFacts {
        hostname,
        kernel,
        cpus: allowed_cpus(),
        page_size_bytes: posix::page_bytes(),
        ram_bytes: ram_bytes(),
    }
}

/// What this boot of the machine is called by the kernel; empty if it did not report it.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// The clock, its source, and the median cost of one read.
pub fn clock_facts(clock: Clock) -> ClockFacts {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    ClockFacts {
        source: fs::read_to_string(SOURCE).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned()),
        read_cost_ns: read_cost_ns(),
        realtime_at_zero_ns: clock.realtime_at_zero_ns(),
        monotonic_at_zero_ns: clock.monotonic_at_zero_ns(),
    }
}

/// The last line of a stream, with what the whole engine cost: peak memory is that of its first process.
pub fn finished(t_ns: u64, outcome: Outcome) -> Event {
    let (own, children) = (Usage::own(), Usage::children());
    Event::Finished {
        t_ns,
        outcome,
        user_cpu_ns: own.user_cpu_ns + children.user_cpu_ns,
        system_cpu_ns: own.system_cpu_ns + children.system_cpu_ns,
        peak_rss_bytes: peak_rss_bytes().unwrap_or(own.peak_rss_bytes),
    }
}

/// Most memory that this program held at a time; `None` without /proc. `ru_maxrss` outlives exec: it is at least what the
/// process held that started this one (Linux, fs/exec.c, `setmax_mm_hiwater_rss`).
fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    kib.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Median of short rounds, so that one preemption spoils one round and not the number.
fn read_cost_ns() -> f64 {
    const ROUNDS: usize = 21;
    const READS: u64 = 50;
    let mut costs_ns: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = read_ns(libc::CLOCK_MONOTONIC);
            for _ in 0..READS {
                black_box(read_ns(libc::CLOCK_MONOTONIC));
            }
            (read_ns(libc::CLOCK_MONOTONIC) - start) as f64 / (READS + 1) as f64
        })
        .collect();
    costs_ns.sort_by(f64::total_cmp);
    costs_ns[ROUNDS / 2]
}

/// CPUs of the affinity mask. libc's set ends at 1024 CPUs; a larger machine is refused by the call and falls back to the
/// number of CPUs that are online.
fn allowed_cpus() -> u32 {
    match affinity::allowed_cpus().len() {
        0 => posix::system_number(libc::_SC_NPROCESSORS_ONLN) as u32,
        count => count as u32,
    }
}

/// RAM that the kernel manages.
fn ram_bytes() -> u64 {
    posix::system_number(libc::_SC_PHYS_PAGES) * posix::page_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_what_proc_says() {
        let facts = machine_facts();

        let read = |path: &str| fs::read_to_string(path).unwrap().trim().to_owned();
        assert_eq!(facts.hostname, read("/proc/sys/kernel/hostname"));
        assert_eq!(facts.kernel, read("/proc/sys/kernel/osrelease"));
        let meminfo = read("/proc/meminfo");
        let total_kib: u64 = meminfo.split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
        assert_eq!(facts.ram_bytes, total_kib * 1024);
        let status = read("/proc/thread-self/status");
        let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:")).unwrap();
        let allowed: u32 = mask.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum();
        assert_eq!(facts.cpus, allowed);
    }

    #[test]
    fn peak_memory_is_at_least_what_was_held() {
        const HELD_BYTES: usize = 256 << 20;

        drop(black_box(vec![1_u8; HELD_BYTES]));

        assert!(peak_rss_bytes().unwrap() >= HELD_BYTES as u64);
    }

    #[test]
    fn the_compiler_is_named() {
        assert!(engine_facts().rustc.starts_with("rustc "), "{}", engine_facts().rustc);
    }

    #[test]
    fn reading_the_clock_costs_no_more_than_the_time_in_which_it_was_found_out() {
        let begun = std::time::Instant::now();
        let facts = clock_facts(Clock::start());
        let wall_ns = begun.elapsed().as_nanos() as f64;

        // Of 21 rounds of 50 reads, 11 took the median or more.
        assert!(facts.read_cost_ns > 0.0 && 11.0 * 50.0 * facts.read_cost_ns <= wall_ns, "{}", facts.read_cost_ns);
        assert!(!facts.source.is_empty());
    }
}
