//! What a backend cannot do, refused before a file is touched.

use crate::backend::CACHED_FIRST;
use crate::backend::abilities::{Appends, DirectIo};
use crate::backend::pieces::MOST_PIECES;
use crate::backend::uri::Scheme;
use crate::backend::uring::MOST_POLLED;
use crate::error::{EngineError, Result};
use crate::plan::{Access, Backend, Body, Coverage, Direct, Distribution, FileSet, Job, Op, Pick, Plan, Region};
use crate::program::op::{FileSource, OpNode, Program};
use crate::sys::advice::Advice;
use crate::sys::cpu_cache;

/// Check the job by itself.
pub fn check_job(job: &Job) -> Result<()> {
    let refuse = |text: String| Err(EngineError::Plan(format!("job '{}': {text}", job.name)));
    let can = job.backend.abilities();
    let name = can.name;
    if job.batch.complete_min > job.queue_depth {
        return Err(EngineError::Plan(format!(
            "job '{}': complete_min {} waits for more than the {} that queue_depth keeps in flight",
            job.name, job.batch.complete_min, job.queue_depth
        )));
    }
    if job.batch.complete_max.is_some_and(|most| most < job.batch.complete_min) {
        return Err(EngineError::Plan(format!("job '{}': complete_max is below complete_min", job.name)));
    }
    if job.queue_depth > 1 && !can.has_queue {
        return refuse(format!(
            "{name} keeps one I/O in flight, so queue_depth {depth} has no effect; use the backend io_uring, or {depth} \
             workers",
            depth = job.queue_depth
        ));
    }
    if matches!(job.backend, Backend::IoUring { sqpoll: true, .. }) && job.queue_depth > MOST_POLLED {
        return refuse(format!(
            "with sqpoll, io_uring keeps at most {MOST_POLLED} in flight, and queue_depth is {}; use less, or several workers",
            job.queue_depth
        ));
    }
    if matches!(job.backend, Backend::IoUring { sqpoll: false, sqpoll_cpu: Some(_), .. }) {
        return refuse(
            "sqpoll_cpu is the CPU of the thread that sqpoll starts; set sqpoll, or leave sqpoll_cpu out".into(),
        );
    }
    if !job.open.advice.is_empty() && Advice::named(&job.open.advice).is_none() {
        return refuse(format!("advice is '{}'; it can be {}", job.open.advice, Advice::names()));
    }
    match can.direct {
        DirectIo::Never if job.open.direct == Direct::On => {
            refuse(format!("{name} goes through the page cache, so direct 'on' is not possible; use psync or io_uring"))
        }
        DirectIo::Needed if job.open.direct != Direct::On => {
            refuse("iopoll polls a device, which needs direct 'on'".to_owned())
        }
        DirectIo::Never | DirectIo::Possible | DirectIo::Needed => {
            if !can.has_open_flags && (job.open.sync || job.open.dsync || job.open.append) {
                return refuse(
                    "sync, dsync and append do nothing for a mapping; put an fdatasync into the loop, or use psync"
                        .to_owned(),
                );
            }
            Ok(())
        }
    }
}

/// Flags of the kernel for a data operation: RWF_.
pub fn rw_flags(job: &Job, op: &Op, file_sets: &[FileSet]) -> Result<i32> {
    let error = |text: String| EngineError::Plan(format!("job '{}': operation '{}': {text}", job.name, op.name));
    let refuse = |text: String| Err(error(text));
    let (flags, append) = (&op.flags, op.access == (Access::Append {}));
    let plain = !(flags.dsync || flags.nowait || flags.high_priority || flags.vectors > 1);
    let rules = op.op.rules();
    if !rules.moves_data() {
        let text = "dsync, nowait, cached_first, high_priority, vectors, cold_buffer and chunk_bytes are for reads and \
                    writes; leave them out";
        let is_bare = plain && !flags.cold_buffer && !flags.cached_first && flags.chunk_bytes == 0;
        return if is_bare { Ok(0) } else { refuse(text.to_owned()) };
    }
    if rules.reads() && (flags.dsync || append) {
        return refuse("dsync and access 'append' are for writes".to_owned());
    }
    if flags.vectors > MOST_PIECES {
        return refuse(format!("vectors is {}; the kernel takes at most {MOST_PIECES}", flags.vectors));
    }
    match op.size {
        Distribution::Fixed { value } if flags.vectors > 1 && value % f64::from(flags.vectors) != 0.0 => {
            return refuse(format!("its size of {value} bytes does not divide into {} equal vectors", flags.vectors));
        }
        _ => {}
    }
    if !(plain || job.backend.abilities().has_call_flags) {
        let name = job.backend.abilities().name;
        return refuse(format!("{name} has no calls with dsync, nowait, high_priority or vectors; use psync"));
    }
    check_chunks(job, op).map_err(error)?;
    check_cached_first(job, op).map_err(error)?;
    check_kept_buffer(op, file_sets).map_err(error)?;
    if flags.cold_buffer && !cpu_cache::IS_EVICTED {
        return refuse("cold_buffer is done on x86-64 processors only; leave it out".to_owned());
    }
    if append {
        check_append(job, op, file_sets).map_err(error)?;
    }
    let flag = |on: bool, flag: i32| if on { flag } else { 0 };
    Ok(flag(flags.dsync, libc::RWF_DSYNC)
        | flag(flags.nowait, libc::RWF_NOWAIT)
        | flag(flags.cached_first, CACHED_FIRST)
        | flag(flags.high_priority, libc::RWF_HIPRI)
        | flag(append && !job.open.append, libc::RWF_APPEND))
}

/// Whether a transfer may move in pieces.
fn check_chunks(job: &Job, op: &Op) -> std::result::Result<(), String> {
    let Op { flags, access, .. } = op;
    if flags.chunk_bytes == 0 {
        return Ok(());
    }
    if !job.backend.abilities().in_pieces {
        return Err("chunk_bytes is for the backends psync, read_write and stdio; use one of them".to_owned());
    }
    if flags.dsync || flags.nowait || flags.high_priority || flags.vectors > 1 {
        return Err("chunk_bytes goes with plain reads and writes; leave other flags and vectors out".to_owned());
    }
    match access {
        _ if matches!(job.body, Body::Script { .. }) => {
            Err("the lines of a script have the chunk_bytes of their group; leave that of the flags out".to_owned())
        }
        Access::Append {} => Err("an append moves in one call; leave chunk_bytes out".to_owned()),
        Access::Whole { .. } => {
            Err("access 'whole' has a chunk_bytes of its own; leave that of the flags out".to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether a read may ask the page cache alone first.
fn check_cached_first(job: &Job, op: &Op) -> std::result::Result<(), String> {
    let flags = &op.flags;
    if !flags.cached_first {
        return Ok(());
    }
    if !op.op.rules().reads() || job.backend != (Backend::Psync {}) {
        return Err("cached_first is for reads of the backend psync; leave it out".to_owned());
    }
    if flags.nowait || flags.high_priority || flags.vectors > 1 || flags.chunk_bytes > 0 {
        return Err(
            "cached_first goes with plain reads; leave nowait, high_priority, vectors and chunk_bytes out".into()
        );
    }
    if job.open.direct != Direct::Off {
        return Err("cached_first asks the page cache, which direct I/O passes by; leave one of them out".to_owned());
    }
    Ok(())
}

/// Whether a write may give what is in the buffer.
fn check_kept_buffer(op: &Op, file_sets: &[FileSet]) -> std::result::Result<(), String> {
    if !op.flags.keeps_buffer {
        return Ok(());
    }
    if !op.op.rules().writes() {
        return Err("keeps_buffer is for writes; leave it out".to_owned());
    }
    if file_sets.iter().any(|set| set.content.stamped) {
        return Err("keeps_buffer writes no stamps; leave it out, or use file sets without stamped content".to_owned());
    }
    Ok(())
}

fn check_append(job: &Job, op: &Op, file_sets: &[FileSet]) -> std::result::Result<(), String> {
    use crate::plan::FileRef;
    let can = job.backend.abilities();
    match can.appends {
        Appends::Never => return Err("a mapping ends where the file ends; append with psync".to_owned()),
        Appends::ByOpening if !job.open.append => {
            return Err(format!("with {} access 'append' needs the job's append = true", can.name));
        }
        Appends::ByOpening | Appends::ByCall => {}
    }
    let stamped =
        |set: &FileSet| set.content.stamped && matches!(&op.file, FileRef::Set { set: s, .. } if *s == set.name);
    if file_sets.iter().any(stamped) {
        return Err("stamped content names its own offset, which an append does not know beforehand".to_owned());
    }
    Ok(())
}

/// The store that a job works on: the one that all its file sets lie in.
///
/// # Errors
///
/// A Plan error for sets in several stores, and for a target that no store is behind.
pub fn store_of(job: &Job, sets: &[usize], plan: &Plan) -> Result<Scheme> {
    let target = |&set: &usize| plan.targets.iter().find(|target| target.name == plan.file_sets[set].target);
    let mut stores =
        sets.iter().filter_map(target).map(|target| Scheme::of(&target.uri).map(|(scheme, _)| scheme.store()));
    let first = stores.next().unwrap_or(Ok(Scheme::File))?;
    for store in stores {
        if store? != first {
            let text = "its file sets lie in different stores, and a worker reaches one; use a job for each";
            return Err(EngineError::Plan(format!("job '{}': {text}", job.name)));
        }
    }
    Ok(first)
}

/// Check a compiled job.
pub fn check_program(job: &Job, program: &Program) -> Result<()> {
    let refuse = |op: &OpNode, text: &str| {
        Err(EngineError::Plan(format!("job '{}': operation '{}': {text}", job.name, op.name)))
    };
    let can = job.backend.abilities();
    for op in program.ops() {
        let rules = op.kind.rules();
        if !can.in_slots && rules.request.is_some() && matches!(op.file, FileSource::Slot(_)) {
            return refuse(op, "mmap maps the files of a set before the start, not a slot; use 'set', or psync");
        }
        let is_own = matches!(&op.file, FileSource::Opened { pick: Pick::Own {}, .. });
        if matches!(op.access, Access::Stream { .. }) && !is_own && program.script.is_none() {
            return refuse(op, "one stream goes through one file; use pick 'own'");
        }
        if matches!(op.file, FileSource::Slot(_)) && !is_even(&op.access) {
            return refuse(
                op,
                "random access in a slot is even over the file or a range of it, with repeats; leave the rest out",
            );
        }
        if !can.flushes && rules.flushes() {
            return refuse(op, "a ring with iopoll takes no flushes; use dsync on the writes, or leave iopoll out");
        }
    }
    Ok(())
}

/// Whether random access is even over a file or a range of it, with repeats; so is any that is not random.
fn is_even(access: &Access) -> bool {
    let Access::Random { region, distribution, coverage, .. } = access else { return true };
    let is_even = matches!(distribution, Distribution::Uniform { min, max } if *min == 0.0 && *max == 1.0);
    !matches!(region, Region::Slice {}) && is_even && *coverage == Coverage::WithRepeats
}

#[cfg(test)]
mod tests;
