//! What does memory management do? Sources `vmstat` and `meminfo`, one instance each.
//!
//! /proc/vmstat: chosen counters under the kernel's own names. `pgpgin` and `pgpgout` are KiB moved by block I/O, the other
//! `pg*`, `ps*` and `workingset_*` are pages or events, `nr_dirty`, `nr_writeback` and the thresholds are pages as of now.
//! /proc/meminfo: gauges in bytes.

use super::procfile::ProcFile;
use crate::events::HostSample;

const VMSTAT: [&str; 16] = [
    "nr_dirty",
    "nr_writeback",
    "nr_dirty_threshold",
    "nr_dirty_background_threshold",
    "nr_dirtied",
    "nr_written",
    "workingset_refault_file",
    "workingset_activate_file",
    "pgpgin",
    "pgpgout",
    "pswpin",
    "pswpout",
    "pgmajfault",
    "pgscan_kswapd",
    "pgscan_direct",
    "oom_kill",
];
const MEMINFO: [(&str, &str); 7] = [
    ("MemTotal", "total_bytes"),
    ("MemFree", "free_bytes"),
    ("MemAvailable", "available_bytes"),
    ("Cached", "cached_bytes"),
    ("Dirty", "dirty_bytes"),
    ("Writeback", "writeback_bytes"),
    ("Slab", "slab_bytes"),
];

/// /proc/vmstat and /proc/meminfo.
pub(super) struct Memory {
    vmstat: Option<ProcFile>,
    meminfo: Option<ProcFile>,
}

impl Memory {
    /// Those that are there.
    pub fn open() -> Self {
        Self { vmstat: ProcFile::open("/proc/vmstat"), meminfo: ProcFile::open("/proc/meminfo") }
    }

    /// Both.
    pub fn sample(&self, text: &mut Vec<u8>, samples: &mut Vec<HostSample>) {
        if let Some(table) = self.vmstat.as_ref().and_then(|file| file.read(text)) {
            samples.push(HostSample::new("vmstat", "", table.lines().filter_map(vmstat)));
        }
        if let Some(table) = self.meminfo.as_ref().and_then(|file| file.read(text)) {
            samples.push(HostSample::new("meminfo", "", table.lines().filter_map(meminfo)));
        }
    }
}

/// A line such as `nr_dirty 12`, if it is one of ours.
fn vmstat(line: &str) -> Option<(&'static str, f64)> {
    let (name, value) = line.split_once(' ')?;
    let name = VMSTAT.into_iter().find(|chosen| *chosen == name)?;
    Some((name, value.trim().parse::<u64>().ok()? as f64))
}

/// A line such as `Dirty:   12 kB`, if it is one of ours. The kernel's kB are KiB.
fn meminfo(line: &str) -> Option<(&'static str, f64)> {
    let (key, value) = line.split_once(':')?;
    let name = MEMINFO.into_iter().find(|(chosen, _)| *chosen == key)?.1;
    Some((name, value.split_ascii_whitespace().next()?.parse::<u64>().ok()? as f64 * 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::posix;

    #[test]
    fn a_name_that_only_begins_like_ours_is_another_counter() {
        assert_eq!(vmstat("nr_dirty 12"), Some(("nr_dirty", 12.0)));
        assert_eq!(vmstat("nr_dirty_something 12"), None);
        assert_eq!(meminfo("WritebackTmp:          4 kB"), None);
        assert_eq!(meminfo("SwapCached:            4 kB"), None);
        assert_eq!(meminfo("Writeback:             4 kB"), Some(("writeback_bytes", 4096.0)));
    }

    #[test]
    fn total_memory_is_what_sysinfo_says() {
        let mut samples = Vec::new();
        Memory::open().sample(&mut Vec::new(), &mut samples);

        let meminfo = samples.iter().find(|sample| sample.source == "meminfo").unwrap();

        let (pages, page_bytes) = (posix::system_number(libc::_SC_PHYS_PAGES), posix::page_bytes());
        assert_eq!(meminfo.values["total_bytes"], (pages * page_bytes) as f64);
        assert!(meminfo.values["available_bytes"] <= meminfo.values["total_bytes"]);
    }
}
