//! What a backend cannot do, refused before a file is touched.

use crate::backend::pieces::MOST_PIECES;
use crate::error::{EngineError, Result};
use crate::plan::{Access, Backend, Body, Direct, Distribution, FileSet, Job, Op, OpKind};
use crate::program::op::{FileSource, Node, OpNode, Program};
use crate::sys::advice::Advice;
use crate::sys::cpu_cache;

/// Check the job by itself.
pub fn check_job(job: &Job) -> Result<()> {
    let refuse = |text: String| Err(EngineError::Plan(format!("job '{}': {text}", job.name)));
    let name = name_of(&job.backend);
    if job.queue_depth > 1 && !has_queue(&job.backend) {
        return refuse(format!(
            "{name} keeps one I/O in flight, so queue_depth {depth} has no effect; use the backend io_uring, or {depth} \
             workers",
            depth = job.queue_depth
        ));
    }
    if !job.open.advice.is_empty() && Advice::named(&job.open.advice).is_none() {
        return refuse(format!("advice is '{}'; it can be {}", job.open.advice, Advice::names()));
    }
    match &job.backend {
        Backend::Mmap {} | Backend::Stdio { .. } if job.open.direct == Direct::On => {
            refuse(format!("{name} goes through the page cache, so direct 'on' is not possible; use psync or io_uring"))
        }
        Backend::Mmap {} if job.open.sync || job.open.dsync || job.open.append => refuse(
            "sync, dsync and append do nothing for a mapping; put an fdatasync into the loop, or use psync".to_owned(),
        ),
        Backend::IoUring { iopoll: true, .. } if job.open.direct != Direct::On => {
            refuse("iopoll polls a device, which needs direct 'on'".to_owned())
        }
        _ => Ok(()),
    }
}

/// Flags of the kernel for a data operation: RWF_.
pub fn rw_flags(job: &Job, op: &Op, file_sets: &[FileSet]) -> Result<i32> {
    let error = |text: String| EngineError::Plan(format!("job '{}': operation '{}': {text}", job.name, op.name));
    let refuse = |text: String| Err(error(text));
    let (flags, append) = (&op.flags, op.access == (Access::Append {}));
    let plain = !(flags.dsync || flags.nowait || flags.high_priority || flags.vectors > 1);
    if !matches!(op.op, OpKind::Read | OpKind::Write) {
        let text = "dsync, nowait, high_priority, vectors, cold_buffer and chunk_bytes are for reads and writes; leave them \
                    out";
        let is_bare = plain && !flags.cold_buffer && flags.chunk_bytes == 0;
        return if is_bare { Ok(0) } else { refuse(text.to_owned()) };
    }
    if op.op == OpKind::Read && (flags.dsync || append) {
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
    if matches!(job.backend, Backend::ReadWrite {} | Backend::Mmap {} | Backend::Stdio { .. }) && !plain {
        let name = name_of(&job.backend);
        return refuse(format!("{name} has no calls with dsync, nowait, high_priority or vectors; use psync"));
    }
    check_chunks(job, op).map_err(error)?;
    check_kept_buffer(job, op, file_sets).map_err(error)?;
    if flags.cold_buffer && !cpu_cache::IS_EVICTED {
        return refuse("cold_buffer is done on x86-64 processors only; leave it out".to_owned());
    }
    if append {
        check_append(job, op, file_sets).map_err(error)?;
    }
    let flag = |on: bool, flag: i32| if on { flag } else { 0 };
    Ok(flag(flags.dsync, libc::RWF_DSYNC)
        | flag(flags.nowait, libc::RWF_NOWAIT)
        | flag(flags.high_priority, libc::RWF_HIPRI)
        | flag(append && !job.open.append, libc::RWF_APPEND))
}

/// Whether a transfer may move in pieces.
fn check_chunks(job: &Job, op: &Op) -> std::result::Result<(), String> {
    let Op { flags, access, .. } = op;
    if flags.chunk_bytes == 0 {
        return Ok(());
    }
    if !matches!(job.backend, Backend::Psync {} | Backend::ReadWrite {} | Backend::Stdio { .. }) {
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

/// Whether a write may give what is in the buffer.
fn check_kept_buffer(job: &Job, op: &Op, file_sets: &[FileSet]) -> std::result::Result<(), String> {
    if !op.flags.keeps_buffer {
        return Ok(());
    }
    if op.op != OpKind::Write || job.queue_depth > 1 {
        return Err("keeps_buffer is for writes of a worker with one I/O in flight; leave it out".to_owned());
    }
    if file_sets.iter().any(|set| set.content.stamped) {
        return Err("keeps_buffer writes no stamps; leave it out, or use file sets without stamped content".to_owned());
    }
    Ok(())
}

fn check_append(job: &Job, op: &Op, file_sets: &[FileSet]) -> std::result::Result<(), String> {
    use crate::plan::FileRef;
    match job.backend {
        Backend::Mmap {} => return Err("a mapping ends where the file ends; append with psync".to_owned()),
        Backend::ReadWrite {} | Backend::Stdio { .. } if !job.open.append => {
            return Err(format!("with {} access 'append' needs the job's append = true", name_of(&job.backend)));
        }
        _ => {}
    }
    let stamped =
        |set: &FileSet| set.content.stamped && matches!(&op.file, FileRef::Set { set: s, .. } if *s == set.name);
    if file_sets.iter().any(stamped) {
        return Err("stamped content names its own offset, which an append does not know beforehand".to_owned());
    }
    Ok(())
}

/// Check a compiled job.
pub fn check_program(job: &Job, program: &Program) -> Result<()> {
    let refuse = |op: &OpNode, text: &str| {
        Err(EngineError::Plan(format!("job '{}': operation '{}': {text}", job.name, op.name)))
    };
    for op in ops(&program.nodes) {
        let moves_data = matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync);
        match (&job.backend, op.kind) {
            (Backend::Mmap {}, _) if moves_data && matches!(op.file, FileSource::Slot(_)) => {
                return refuse(op, "mmap maps the files of a set before the start, not a slot; use 'set', or psync");
            }
            (Backend::IoUring { iopoll: true, .. }, OpKind::Fsync | OpKind::Fdatasync) => {
                return refuse(op, "a ring with iopoll takes no flushes; use dsync on the writes, or leave iopoll out");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a backend can keep several I/Os in flight.
pub fn has_queue(backend: &Backend) -> bool {
    matches!(backend, Backend::IoUring { .. } | Backend::Aio {})
}

/// Name of a backend in the Plan.
pub fn name_of(backend: &Backend) -> &'static str {
    match backend {
        Backend::Psync {} => "psync",
        Backend::ReadWrite {} => "read_write",
        Backend::IoUring { .. } => "io_uring",
        Backend::Aio {} => "aio",
        Backend::Mmap {} => "mmap",
        Backend::Stdio { .. } => "stdio",
    }
}

/// All operations of a program.
pub fn ops(nodes: &[Node]) -> Vec<&OpNode> {
    let mut found = Vec::new();
    for node in nodes {
        match node {
            Node::Op(op) => found.push(op),
            Node::Group { nodes, .. } | Node::Repeat { nodes, .. } => found.extend(ops(nodes)),
            Node::Choice { branches, .. } => found.extend(branches.iter().flat_map(|nodes| ops(nodes))),
            Node::Action(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
