//! Read the state of the host at each tick.
//!
//! [`HostObserver`] reads the counters of the whole machine, [`task::TaskObserver`] those of one worker, [`cache`] how
//! much of the data is in memory, [`pauses`] whether the client was paused, [`capabilities`] what kernel and privileges
//! allow, [`delay_accounting`] holds a switch of the kernel on, [`facts`] who and where we are.
//!
//! Every source is a text file of /proc or /sys that stays open and is read again from its start. A file that is not
//! there, or that may not be read, leaves its source out: a container or an old kernel is no error. Totals are passed on
//! as the kernel gives them, only the units are made equal (`_bytes`, `_ns`, `_us`); that of [`energy`] alone begins anew
//! within a run and is made one that does not.

pub mod cache;
pub mod capabilities;
pub(crate) mod cgroup;
mod cpu;
pub mod delay_accounting;
mod disk;
mod energy;
pub mod facts;
mod growth;
mod io_limits;
mod kernel_threads;
mod look;
mod memory;
mod net;
pub mod pauses;
mod pressure;
mod procfile;
mod programs;
pub mod task;

use crate::events::HostSample;
use crate::sys::posix;
use std::os::fd::AsFd;

/// The counters of the host. Not shared between threads: the one observer thread owns it.
pub struct HostObserver {
    disk: Option<disk::Disk>,
    net: Option<net::Net>,
    pressure: pressure::Pressure,
    memory: memory::Memory,
    cpu: cpu::Cpu,
    cgroup: cgroup::Cgroup,
    io_limits: io_limits::IoLimits,
    kernel_threads: Option<kernel_threads::KernelThreads>,
    programs: Option<programs::Programs>,
    energy: energy::Energy,
    text: Vec<u8>,
}

impl HostObserver {
    /// Open what can be opened.
    pub fn new() -> Self {
        Self {
            disk: disk::Disk::open(),
            net: net::Net::open(),
            pressure: pressure::Pressure::open(),
            memory: memory::Memory::open(),
            cpu: cpu::Cpu::open(),
            cgroup: cgroup::Cgroup::open(),
            io_limits: io_limits::IoLimits::open(),
            kernel_threads: kernel_threads::KernelThreads::open(),
            programs: programs::Programs::open(),
            energy: energy::Energy::open(),
            text: Vec::new(),
        }
    }

    /// Read every source once.
    ///
    /// A block device appears with its first I/O; before that all its counters are zero.
    pub fn sample(&mut self) -> Vec<HostSample> {
        let mut samples = Vec::with_capacity(16);
        if let Some(disk) = &mut self.disk {
            disk.sample(&mut self.text, &mut samples);
        }
        if let Some(net) = &self.net {
            net.sample(&mut self.text, &mut samples);
        }
        self.pressure.sample(&mut self.text, &mut samples);
        self.memory.sample(&mut self.text, &mut samples);
        self.cpu.sample(&mut self.text, &mut samples);
        self.cgroup.sample(&mut self.text, &mut samples);
        self.io_limits.sample(&mut self.text, &mut samples);
        if let Some(threads) = &mut self.kernel_threads {
            threads.sample(&mut self.text, &mut samples);
        }
        if let Some(programs) = &mut self.programs {
            programs.sample(&mut samples);
        }
        self.energy.sample(&mut self.text, &mut samples);
        samples
    }
}

impl Default for HostObserver {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether what an open file or directory is on lives in memory alone (tmpfs, ramfs): all of it is in the page cache, and
/// there is nothing to write back or to evict.
pub fn is_in_memory(file: impl AsFd) -> bool {
    const RAMFS_MAGIC: i64 = 0x8584_58f6;
    matches!(posix::kind_of_file_system(file.as_fd()), libc::TMPFS_MAGIC | RAMFS_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_and_instance_appears_once_and_holds_numbers() {
        let samples = HostObserver::new().sample();

        let mut keys: Vec<_> = samples.iter().map(|sample| (&sample.source, &sample.instance)).collect();
        keys.sort();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count);
        assert!(samples.iter().all(|sample| !sample.values.is_empty()));
        assert!(samples.iter().flat_map(|sample| sample.values.values()).all(|value| value.is_finite()));
    }

    #[test]
    fn totals_of_a_second_sample_are_not_below_those_of_the_first() {
        let mut observer = HostObserver::new();
        let first = observer.sample();

        let second = observer.sample();

        for source in ["net", "pressure", "kernel_threads", "programs"] {
            for before in first.iter().filter(|sample| sample.source == source) {
                let after = second.iter().find(|s| s.source == source && s.instance == before.instance);
                let after = after.expect("an interface or resource stays");
                assert!(before.values.iter().all(|(name, value)| after.values[name] >= *value), "{source}");
            }
        }
    }
}
