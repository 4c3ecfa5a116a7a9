//! Which CPUs, and which memory, a worker may use.

use crate::error::{EngineError, Result};
use crate::plan::{Affinity, Backend, Job};
use std::fs;
use std::io;

const NODES: &str = "/sys/devices/system/node";
/// Mode of set_mempolicy(2): only the given nodes.
const MPOL_BIND: libc::c_long = 2;
/// Bits of a cpu_set_t.
const MOST_CPUS: u32 = libc::CPU_SETSIZE as u32;

/// Refuse CPUs and nodes that this machine does not have.
pub fn check(job: &Job) -> Result<()> {
    let refuse = |text: String| Err(EngineError::Environment(format!("job '{}': {text}", job.name)));
    let allowed = allowed_cpus();
    let list = in_words(&allowed);
    if let Some(cpu) = job.affinity.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        return refuse(format!("CPU {cpu} is not one that the engine may run on; it may use {list}"));
    }
    if let Backend::IoUring { sqpoll_cpu: Some(cpu), .. } = &job.backend
        && !allowed.contains(cpu)
    {
        return refuse(format!("sqpoll_cpu {cpu} is not a CPU that the engine may run on; it may use {list}"));
    }
    let Some(node) = job.affinity.numa_node else { return Ok(()) };
    let Some(cpus) = node_cpus(node) else {
        return refuse(match nodes() {
            nodes if nodes.is_empty() => "this machine has no NUMA nodes; leave numa_node out".to_owned(),
            nodes => format!("there is no NUMA node {node}; this machine has {}", in_words(&nodes)),
        });
    };
    if job.affinity.cpus.is_empty() && !cpus.iter().any(|cpu| allowed.contains(cpu)) {
        return refuse(format!("the engine may run on none of the CPUs of NUMA node {node}; give cpus as well"));
    }
    Ok(())
}

/// Bind the calling thread, before it makes its buffers: worker `worker` of a job that [`check`] let through.
///
/// # Errors
///
/// The kernel refuses; a CPU can go away between check and start.
pub fn bind(affinity: &Affinity, worker: u32) -> io::Result<()> {
    if let Some(node) = affinity.numa_node {
        bind_memory(node)?;
        if affinity.cpus.is_empty() {
            let allowed = allowed_cpus();
            let cpus: Vec<u32> =
                node_cpus(node).unwrap_or_default().into_iter().filter(|cpu| allowed.contains(cpu)).collect();
            return bind_cpus(&cpus);
        }
    }
    match affinity.cpus.len() {
        0 => Ok(()),
        count => bind_cpus(&[affinity.cpus[worker as usize % count]]),
    }
}

fn bind_cpus(cpus: &[u32]) -> io::Result<()> {
    // SAFETY: a zeroed set is the empty set; numbers are below its size; the call reads the set only.
    let answer = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().filter(|&&cpu| cpu < MOST_CPUS).for_each(|&cpu| libc::CPU_SET(cpu as usize, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Take memory of the calling thread from one node only.
fn bind_memory(node: u32) -> io::Result<()> {
    let mut mask = [0_u64; 16];
    let Some(word) = mask.get_mut(node as usize / 64) else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    *word = 1 << (node % 64);
    // The kernel takes one bit less than the size it gets.
    let bits = u64::BITS as usize * mask.len() + 1;
    // SAFETY: the mask has that many bits and lives across the call.
    let answer = unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_BIND, mask.as_ptr(), bits) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// CPUs that this process may use.
pub fn allowed_cpus() -> Vec<u32> {
    // SAFETY: a zeroed set is the empty set; the call writes at most its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        (0..MOST_CPUS).filter(|&cpu| libc::CPU_ISSET(cpu as usize, &set)).collect()
    }
}

/// CPUs of this machine that run.
pub fn online_cpus() -> Vec<u32> {
    fs::read_to_string("/sys/devices/system/cpu/online").map(|text| listed(&text)).unwrap_or_default()
}

fn node_cpus(node: u32) -> Option<Vec<u32>> {
    fs::read_to_string(format!("{NODES}/node{node}/cpulist")).ok().map(|text| listed(&text))
}

fn nodes() -> Vec<u32> {
    fs::read_to_string(format!("{NODES}/online")).map(|text| listed(&text)).unwrap_or_default()
}

/// The kernel's lists of numbers: `0-3,8`.
fn listed(text: &str) -> Vec<u32> {
    text.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
        })
        .flatten()
        .collect()
}

fn in_words(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(field: &str) -> String {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find_map(|line| line.strip_prefix(field)).unwrap().trim().to_owned()
    }

    #[test]
    fn workers_take_the_cpus_of_the_list_in_turn() {
        let cpus = allowed_cpus();
        let affinity = Affinity { cpus: cpus.clone(), numa_node: None };

        for worker in 0..3 {
            let listed = affinity.clone();
            let seen = std::thread::spawn(move || {
                bind(&listed, worker).unwrap();
                status("Cpus_allowed_list:")
            });

            assert_eq!(seen.join().unwrap(), cpus[worker as usize % cpus.len()].to_string());
        }
    }

    #[test]
    fn a_node_binds_its_memory_and_its_cpus() {
        let Some(cpus) = node_cpus(0) else { return eprintln!("skipped: this kernel has no NUMA nodes") };
        let allowed = allowed_cpus();

        let (maps, seen) = std::thread::spawn(|| {
            bind(&Affinity { cpus: Vec::new(), numa_node: Some(0) }, 5).unwrap();
            let buffers = crate::buffer::Buffers::new(1, crate::buffer::BufferSize::plain(4096)).unwrap();
            let address = buffers.address(0) as usize;
            let begins_before = |line: &&str| {
                usize::from_str_radix(line.split(' ').next().unwrap(), 16).is_ok_and(|begin| begin <= address)
            };
            let maps = fs::read_to_string("/proc/thread-self/numa_maps").unwrap();
            (maps.lines().rfind(begins_before).unwrap().to_owned(), status("Cpus_allowed_list:"))
        })
        .join()
        .unwrap();

        assert!(maps.contains(" bind:0 "), "{maps}");
        assert_eq!(listed(&seen), cpus.into_iter().filter(|cpu| allowed.contains(cpu)).collect::<Vec<_>>());
    }

    #[test]
    fn the_kernels_lists_are_read() {
        assert_eq!(listed("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(listed("\n"), [0_u32; 0]);
    }
}
