//! How much memory will a Plan need, and is it there?
//!
//! Counted is what grows with a Plan's numbers: the buffers of all workers of a phase, what they count, the names of a set
//! that several workers change, the generations of stamped sets. It is held against what the kernel, a control group and a
//! limit of this process leave, before anything is made: what is not there would be missed in the middle of a phase, by a
//! kernel that ends some process. What a part takes for certain is counted, not what it may take; a limit of the address
//! space (`ulimit -v`) is held against what is mapped, which is more.

use crate::buffer::BufferSize;
use crate::draw::sizes::Sampler;
use crate::error::{EngineError, Result};
use crate::observe::cgroup::memory_left_bytes;
use crate::plan::{FileSet, Job, Phase, Plan};
use crate::program::op::Program;
use crate::program::op_rules::Names;
use crate::program::stamp_rules::unit_of;
use crate::stats::{SeriesStats, SlotStats};
use crate::sys::limits::limit_of;
use crate::units::bytes_text;
use std::fs;

const PAGE_BYTES: u64 = 4096;
/// Of the counters of an operation, those that a usual spread of latencies touches, with what was read of them.
const TOUCHED_BYTES: u64 = 8 * PAGE_BYTES;
/// A stack: what of it is used, and what is mapped.
const STACK_BYTES: (u64, u64) = (4 * PAGE_BYTES, 2 << 20);
/// An index of a set in each of two queues.
const INDEX_BYTES: u64 = 16;
/// The generation of a block.
const GENERATION_BYTES: u64 = 8;
/// What the engine itself maps and takes.
const OWN_BYTES: u64 = 16 << 20;

/// A part of what is needed.
struct Need {
    /// What takes it, in words.
    what: String,
    /// What to lower.
    cure: &'static str,
    /// What is written to, and so takes memory for certain.
    bytes: u64,
    /// What is mapped.
    mapped_bytes: u64,
}

/// Refuse a Plan that needs more memory than there is; `programs` by phase and job.
///
/// # Errors
///
/// The text says how much is needed, what takes most of it, how much is there and by what, and what to lower.
pub fn check(plan: &Plan, programs: &[Vec<Program>]) -> Result<()> {
    let (sets, left) = (of_sets(plan, programs)?, left());
    for (phase, programs) in plan.phases.iter().zip(programs) {
        let jobs = phase.jobs.iter().zip(programs).flat_map(|(job, program)| of_job(phase, job, program));
        let needs: Vec<Need> = jobs.collect();
        fits(needs.iter().chain(&sets), &left)?;
    }
    Ok(())
}

fn of_job(phase: &Phase, job: &Job, program: &Program) -> [Need; 2] {
    let (workers, depth) = (u64::from(job.workers), u64::from(job.queue_depth));
    let size = BufferSize::new(program.buffer_bytes, job.huge_pages);
    let of_worker = size.mapped_bytes(job.queue_depth as usize).map_or(u64::MAX, |bytes| bytes as u64);
    let buffers = workers.saturating_mul(of_worker);
    let buffer_bytes = size.slot_bytes().map_or(u64::MAX, |bytes| bytes as u64);
    let series = program.series.len() as u64;
    let slots = depth * size_of::<SlotStats>() as u64;
    let place = format!("phase '{}', job '{}'", phase.name, job.name);
    let what =
        format!("the buffers of {place} (workers {workers} x queue_depth {depth} x {})", bytes_text(buffer_bytes));
    let counted = series * TOUCHED_BYTES + slots + STACK_BYTES.0;
    let mapped = series * size_of::<SeriesStats>() as u64 + slots + STACK_BYTES.1;
    [
        Need {
            what,
            cure: "workers, queue_depth or size",
            // Huge pages are set aside, and no free memory (`huge_pages.rs`).
            bytes: if job.huge_pages { 0 } else { buffers },
            mapped_bytes: buffers,
        },
        Need {
            what: format!("the counters of {place} ({workers} workers x {series} operations)"),
            cure: "workers",
            bytes: workers.saturating_mul(counted),
            mapped_bytes: workers.saturating_mul(mapped),
        },
    ]
}

fn of_sets(plan: &Plan, programs: &[Vec<Program>]) -> Result<Vec<Need>> {
    let units = plan.file_sets.iter().map(|set| unit_of(plan, set)).collect::<Result<Vec<_>>>()?;
    let indices = plan.file_sets.iter().enumerate().map(|(at, set)| {
        let mapped_bytes = set.files.saturating_mul(INDEX_BYTES);
        let bytes = if is_shuffled(at, plan, programs) { mapped_bytes } else { 0 };
        let what = format!("the names of file set '{}', which several workers make and remove", set.name);
        Need { what, cure: "files", bytes, mapped_bytes }
    });
    let generations = plan.file_sets.iter().zip(units).filter_map(|(set, unit_bytes)| {
        let blocks = bytes_of(set)? / unit_bytes?.max(1);
        let bytes = blocks.saturating_mul(GENERATION_BYTES);
        let what = format!("how often each block of the stamped file set '{}' was written", set.name);
        Some(Need { what, cure: "files or their size", bytes, mapped_bytes: bytes })
    });
    Ok(indices.chain(generations).collect())
}

/// Bytes of a set, where each of its files has the same.
fn bytes_of(set: &FileSet) -> Option<u64> {
    let size = Sampler::new(&set.size).ok()?.is_fixed()?;
    Some(set.files.saturating_mul(size))
}

/// Whether several workers make and remove names of a set out of turn.
fn is_shuffled(set: usize, plan: &Plan, programs: &[Vec<Program>]) -> bool {
    plan.phases.iter().zip(programs).any(|(phase, programs)| {
        let changers = phase.jobs.iter().zip(programs).filter(|(_, program)| {
            program.sets.contains(&set)
                && program.ops().any(|op| matches!(op.kind.rules().names, Names::Take | Names::Move))
        });
        changers.map(|(job, _)| job.workers).sum::<u32>() > 1
    })
}

/// What is there: by what it is bounded, how much, and whether what is mapped counts.
struct Left {
    by: &'static str,
    bytes: u64,
    counts_mapped: bool,
}

fn left() -> Vec<Left> {
    let mut left = Vec::new();
    if let Some(bytes) = available_bytes() {
        left.push(Left { by: "free memory (MemAvailable)", bytes, counts_mapped: false });
    }
    if let Some(bytes) = memory_left_bytes() {
        left.push(Left { by: "the control group's memory limit", bytes, counts_mapped: false });
    }
    if let Some(bytes) = address_space_bytes() {
        left.push(Left { by: "the limit of the address space (ulimit -v)", bytes, counts_mapped: true });
    }
    left
}

fn fits<'a>(needs: impl Iterator<Item = &'a Need> + Clone, left: &[Left]) -> Result<()> {
    for Left { by, bytes: there, counts_mapped } in left {
        let size = |need: &Need| if *counts_mapped { need.mapped_bytes } else { need.bytes };
        let needed = needs.clone().map(size).fold(OWN_BYTES, u64::saturating_add);
        if needed <= *there {
            continue;
        }
        let Some(most) = needs.clone().max_by_key(|need| size(need)) else { continue };
        return Err(EngineError::Environment(format!(
            "{} of memory are needed, {} of it for {}; {} are left by {by}. Lower {}, or make room. Nothing was written",
            bytes_text(needed),
            bytes_text(size(most)),
            most.what,
            bytes_text(*there),
            most.cure,
        )));
    }
    Ok(())
}

/// Memory that the kernel could give without swapping.
fn available_bytes() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    available.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What this process may still map; None without a limit.
fn address_space_bytes() -> Option<u64> {
    let limit = limit_of(libc::RLIMIT_AS)?;
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let mapped_pages: u64 = statm.split_ascii_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(mapped_pages * PAGE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(bytes: u64, mapped_bytes: u64) -> Need {
        Need { what: format!("the {bytes}"), cure: "files", bytes, mapped_bytes }
    }

    #[test]
    fn what_is_needed_is_held_against_the_tightest_bound_and_says_what_takes_most() {
        let needs = [need(1 << 30, 1 << 30), need(3 << 30, 9 << 30)];
        let left = |gib: u64, counts_mapped| [Left { by: "the test", bytes: gib << 30, counts_mapped }];

        assert!(fits(needs.iter(), &left(5, false)).is_ok());
        assert!(fits(needs.iter(), &left(11, true)).is_ok());
        assert!(fits(needs.iter(), &left(5, true)).is_err());
        let error = fits(needs.iter(), &left(2, false)).unwrap_err().to_string();
        assert!(
            error.starts_with("4.0 GiB of memory are needed, 3.0 GiB of it for the 3221225472; 2.0 GiB are left by")
        );
        assert!(error.contains("Lower files"), "{error}");
    }

    #[test]
    fn needs_beyond_any_number_are_not_small_ones() {
        let needs = [need(u64::MAX, u64::MAX), need(u64::MAX, u64::MAX)];

        assert!(fits(needs.iter(), &[Left { by: "the test", bytes: 1 << 40, counts_mapped: false }]).is_err());
    }
}
