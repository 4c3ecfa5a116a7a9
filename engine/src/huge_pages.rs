//! How many huge pages do the buffers of a Plan take, and are they free?
//!
//! Huge pages are set aside by the administrator (`vm.nr_hugepages`) and are no part of free memory. The buffers of a phase are
//! made when it begins and freed when it ends, so a Plan takes what its largest phase takes.

use crate::buffer::{BufferSize, HUGE_PAGE_BYTES};
use crate::error::{EngineError, Result};
use crate::plan::{Backend, Fallback, Job, Plan};
use crate::program::op::Program;
use crate::units::bytes_text;
use std::fs;
use std::path::Path;

/// The kernel's pages of 2 MiB.
const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// What a job's buffers take.
struct Need {
    what: String,
    pages: u64,
}

/// Counts of the kernel's huge pages of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pool {
    /// Set aside.
    all: u64,
    /// Of these, in no use and promised to nobody.
    free: u64,
    /// Further ones that the kernel makes when they are asked for (`vm.nr_overcommit_hugepages`), if memory allows.
    further: u64,
}

/// Refuse a Plan whose buffers take more huge pages than are free; `programs` by phase and job.
///
/// # Errors
///
/// The text says how many are needed and by what, how many are free, and the command that sets more aside.
pub fn check(plan: &Plan, programs: &[Vec<Program>], has_io_uring: bool) -> Result<()> {
    for (phase, programs) in plan.phases.iter().zip(programs) {
        let jobs = phase.jobs.iter().zip(programs).filter(|(job, _)| job.huge_pages);
        let needs: Vec<Need> = jobs.map(|(job, program)| need_of(job, program, has_io_uring)).collect();
        if !needs.is_empty() {
            fits(&phase.name, &needs, Pool::read(Path::new(POOL)), is_default_size())?;
        }
    }
    Ok(())
}

fn need_of(job: &Job, program: &Program, has_io_uring: bool) -> Need {
    let falls_back = matches!(job.backend, Backend::IoUring { fallback: Fallback::Threads, .. }) && !has_io_uring;
    let (workers, depth) = match falls_back {
        true => (u64::from(job.workers).saturating_mul(u64::from(job.queue_depth)), 1),
        false => (u64::from(job.workers), job.queue_depth),
    };
    let size = BufferSize::new(program.buffer_bytes, true);
    // More than there can be is more than is free.
    let bytes_of = |bytes: Option<usize>| bytes.map_or(u64::MAX, |bytes| bytes as u64);
    let pages = bytes_of(size.mapped_bytes(depth as usize)).div_ceil(HUGE_PAGE_BYTES as u64).saturating_mul(workers);
    let buffer = bytes_text(bytes_of(size.slot_bytes()));
    Need { what: format!("job '{}': workers {workers} x queue_depth {depth} x {buffer}", job.name), pages }
}

fn fits(phase: &str, needs: &[Need], pool: Option<Pool>, is_default_size: bool) -> Result<()> {
    let refuse = |text: String| Err(EngineError::Environment(format!("phase '{phase}': {text}")));
    let Some(Pool { all, free, further }) = pool else {
        return refuse("this kernel has no huge pages of 2 MiB; leave huge_pages out. Nothing was written".to_owned());
    };
    let needed = needs.iter().map(|need| need.pages).fold(0, u64::saturating_add);
    if needed <= free.saturating_add(further) {
        return Ok(());
    }
    let list = needs.iter().map(|need| need.what.as_str()).collect::<Vec<_>>().join("; ");
    let wanted = all.saturating_add(needed - free);
    let command = match is_default_size {
        true => format!("sysctl vm.nr_hugepages={wanted}"),
        false => format!("echo {wanted} > {POOL}/nr_hugepages"),
    };
    refuse(format!(
        "huge_pages needs {needed} huge pages of 2 MiB ({list}), and {free} are free (HugePages_Free without \
         HugePages_Rsvd). Set more aside as root: {command}. Or leave huge_pages out. Nothing was written"
    ))
}

/// Whether `vm.nr_hugepages` and /proc/meminfo are of pages of 2 MiB.
fn is_default_size() -> bool {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let size = meminfo.lines().find_map(|line| line.strip_prefix("Hugepagesize:"));
    size.is_some_and(|text| text.trim() == "2048 kB")
}

impl Pool {
    /// The counts in a folder of /sys; None: the kernel has no such pages.
    fn read(folder: &Path) -> Option<Self> {
        let count = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        Some(Self {
            all: count("nr_hugepages")?,
            free: count("free_hugepages")?.saturating_sub(count("resv_hugepages")?),
            further: count("nr_overcommit_hugepages")?.saturating_sub(count("surplus_hugepages")?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::plans::{act, job, on_set, phase, set};
    use crate::plan::{OpKind, Stop};
    use crate::program::compile::compile;

    fn reader(workers: u32, queue_depth: u32, fallback: Fallback) -> Job {
        let body = vec![act(on_set(OpKind::Read, "read", 65_536.0, None))];
        let backend = Backend::IoUring { sqpoll: false, sqpoll_cpu: None, iopoll: false, fallback };
        Job { workers, queue_depth, backend, huge_pages: true, ..job("load", body, Stop::default()) }
    }

    fn pages(job: &Job, has_io_uring: bool) -> u64 {
        let program = compile(job, &phase(Vec::new(), Vec::new()), &[set(1, 1.0, 1e6)]).unwrap();
        need_of(job, &program, has_io_uring).pages
    }

    #[test]
    fn each_worker_takes_whole_pages_for_all_its_buffers() {
        assert_eq!(pages(&reader(3, 32, Fallback::Refuse), true), 3);
        assert_eq!(pages(&reader(3, 33, Fallback::Refuse), true), 6);
    }

    #[test]
    fn threads_in_place_of_a_queue_take_a_page_each() {
        assert_eq!(pages(&reader(3, 32, Fallback::Threads), true), 3);
        assert_eq!(pages(&reader(3, 32, Fallback::Threads), false), 96);
    }

    #[test]
    fn too_few_free_pages_are_refused_with_the_command_that_helps() {
        let needs = [Need { what: "a".to_owned(), pages: 20 }, Need { what: "b".to_owned(), pages: 4 }];
        let pool = |free, further| Some(Pool { all: 10, free, further });
        let refusal = |pool, is_default| fits("one", &needs, pool, is_default).unwrap_err().to_string();

        assert!(fits("one", &needs, pool(24, 0), true).is_ok());
        assert!(fits("one", &needs, pool(3, 21), true).is_ok());
        let few = refusal(pool(3, 20), true);
        assert!(
            few.starts_with("phase 'one': huge_pages needs 24 huge pages of 2 MiB (a; b), and 3 are free"),
            "{few}"
        );
        assert!(few.contains("sysctl vm.nr_hugepages=31."), "{few}");
        assert!(
            refusal(pool(23, 0), false).contains("echo 11 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
        );
        assert!(refusal(None, true).contains("no huge pages of 2 MiB"));
    }

    #[test]
    fn promised_pages_are_not_free() {
        let folder = tempfile::tempdir().unwrap();
        let counts = [("nr", 10), ("free", 7), ("resv", 2), ("nr_overcommit", 5), ("surplus", 1)];
        for (name, count) in counts {
            fs::write(folder.path().join(format!("{name}_hugepages")), format!("{count}\n")).unwrap();
        }

        assert_eq!(Pool::read(folder.path()), Some(Pool { all: 10, free: 5, further: 4 }));
        assert_eq!(Pool::read(&folder.path().join("none")), None);
    }
}
