//! What do kernel and privileges allow, and why not the rest?

use super::cache::cachestat_answers;
use super::task::schedstat_counts;
use crate::events::Capabilities;
use io_uring::IoUring;
use std::fs::{self, File};
use std::io;

const DELAY_ACCOUNTING: &str = "/proc/sys/kernel/task_delayacct";
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Try each. Delay accounting is told as it is now: hold a [`DelayAccounting`] before, if it is wanted.
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
        delay_accounting: has(delay_accounting()),
        schedstat: has(schedstat()),
        notes,
    }
}

/// Block-I/O delay accounting, held on.
///
/// The kernel gives a task its delay counters when it is created, and only while the switch is on (`delayacct_tsk_init` at
/// fork); it adds to them only while the switch is on. So turn it on before the workers are created and hold it until
/// they have ended: a thread from before counts 0 for good (seen on Linux 6.18: 800 direct reads gave 0 there, 60 ms in
/// a thread created after).
///
/// The switch is one for the machine. It is put back to 0 on drop if this guard turned it on; a process that is killed
/// leaves it on, which costs next to nothing.
#[derive(Debug)]
pub struct DelayAccounting {
    turned_on: bool,
}

impl DelayAccounting {
    /// Turn it on if it is off and we may.
    pub fn enable() -> Self {
        Self { turned_on: read_switch() == Some(false) && write_switch("1").is_ok() }
    }

    /// Whether it is on now: another program may have turned it off meanwhile, so ask again at the end of a run.
    pub fn is_on(&self) -> bool {
        read_switch() == Some(true)
    }
}

impl Drop for DelayAccounting {
    fn drop(&mut self) {
        if self.turned_on {
            // Nothing can be done about a failure here, and the switch being on harms nobody.
            let _ = write_switch("0");
        }
    }
}

/// None: the kernel has no such switch.
fn read_switch() -> Option<bool> {
    fs::read_to_string(DELAY_ACCOUNTING).ok().map(|text| text.trim() == "1")
}

fn write_switch(value: &str) -> io::Result<()> {
    // Not fs::write: there is nothing to create or truncate here.
    io::Write::write_all(&mut File::options().write(true).open(DELAY_ACCOUNTING)?, value.as_bytes())
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

fn delay_accounting() -> Result<(), String> {
    match read_switch() {
        Some(true) => Ok(()),
        Some(false) => Err("delay_accounting: off, so waits for block I/O cannot be told from other waits. \
             Run as root or set kernel.task_delayacct = 1 (sysctl)."
            .to_owned()),
        None => Err("delay_accounting: this kernel has no kernel.task_delayacct switch (Linux 5.14, \
             CONFIG_TASK_DELAY_ACCT); waits for block I/O cannot be told from other waits."
            .to_owned()),
    }
}

fn schedstat() -> Result<(), String> {
    if schedstat_counts() {
        return Ok(());
    }
    Err("schedstat: /proc/self/task/T/schedstat is missing or all zero, so waits for a CPU cannot be told from other \
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

    #[test]
    fn delay_accounting_is_put_back_as_it_was() {
        let before = read_switch();

        let guard = DelayAccounting::enable();
        let (turned_on, on) = (guard.turned_on, guard.is_on());
        drop(guard);

        // Another run on this machine may hold the switch on as well, so only what this guard did is certain.
        if turned_on {
            assert!(on);
            assert_eq!(read_switch(), Some(false));
        } else {
            assert_eq!(read_switch(), before);
        }
    }
}
