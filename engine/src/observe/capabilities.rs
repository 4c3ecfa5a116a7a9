//! What do kernel and privileges allow, and why not the rest?

use super::cache::cachestat_answers;
use super::delay_accounting;
use super::task::SCHEDSTAT_COUNTS;
use crate::events::Capabilities;
use io_uring::IoUring;
use std::fs::{self, File};

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Try each. Delay accounting is reported as it is now: hold a
/// [`delay_accounting::DelayAccounting`] before, if it is wanted.
pub fn probe() -> Capabilities {
    let mut notes = Vec::new();
    let mut has = |answer: Result<(), String>| answer.map_err(|note| notes.push(note)).is_ok();
    Capabilities {
        io_uring: has(io_uring()),
        cachestat: has(cachestat_answers().map_err(|error| {
            format!(
                "cachestat: {error}. Residency is counted by mincore, slower and without dirty pages; Linux 6.5 has it."
            )
        })),
        drop_caches: has(drop_caches()),
        delay_accounting: has(block_delay()),
        schedstat: has(schedstat()),
        notes,
    }
}

fn io_uring() -> Result<(), String> {
    let error = match IoUring::new(2) {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    let disabled = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    let why = match (error.raw_os_error(), disabled.trim()) {
        (Some(libc::EPERM), "1" | "2") => {
            format!("kernel.io_uring_disabled is {}. Set it to 0 (sysctl) or use psync workers.", disabled.trim())
        }
        (Some(libc::EPERM | libc::EACCES), _) => {
            "refused, probably by a container's seccomp filter. Allow io_uring_setup there or use psync workers."
                .to_owned()
        }
        (Some(libc::ENOSYS), _) => {
            "the kernel has none, or a container's seccomp filter hides it. Linux 5.1 has it; use psync workers."
                .to_owned()
        }
        (Some(libc::ENOMEM), _) => "not enough lockable memory. Raise the limit (ulimit -l).".to_owned(),
        _ => format!("{error}. Use psync workers."),
    };
    Err(format!("io_uring: {why}"))
}

/// Opening for writing asks for everything that writing would, and drops nothing.
fn drop_caches() -> Result<(), String> {
    File::options().write(true).open(DROP_CACHES).map(drop).map_err(|error| {
        format!("drop_caches: {DROP_CACHES}: {error}. Caches are emptied file by file (fadvise); root outside a container can drop all.")
    })
}

fn block_delay() -> Result<(), String> {
    match delay_accounting::is_on() {
        Some(true) => Ok(()),
        Some(false) => Err("delay_accounting: off, so waits for block I/O cannot be distinguished from other waits. \
             Run as root or set kernel.task_delayacct = 1 (sysctl)."
            .to_owned()),
        None => Err("delay_accounting: this kernel has no kernel.task_delayacct switch (Linux 5.14, \
             CONFIG_TASK_DELAY_ACCT); waits for block I/O cannot be distinguished from other waits."
            .to_owned()),
    }
}

fn schedstat() -> Result<(), String> {
    if *SCHEDSTAT_COUNTS {
        return Ok(());
    }
    Err("schedstat: /proc/self/task/T/schedstat is missing or all zero, so waits for a CPU cannot be distinguished from other \
         waits. A kernel with CONFIG_SCHED_INFO has it."
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_missing_has_a_note_that_names_it() {
        let found = probe();

        let missing = [
            ("io_uring", found.io_uring),
            ("cachestat", found.cachestat),
            ("drop_caches", found.drop_caches),
            ("delay_accounting", found.delay_accounting),
            ("schedstat", found.schedstat),
        ];
        let missing: Vec<_> = missing.iter().filter(|(_, there)| !there).map(|(name, _)| *name).collect();
        let named: Vec<_> = found.notes.iter().filter_map(|note| note.split_once(':')).map(|(name, _)| name).collect();
        assert_eq!(named, missing);
    }
}
