//! Which loads a stamped set bears: only those after which every sector can still be judged.

use crate::error::{EngineError, Result};
use crate::load::judge::BLOCK_BYTES;
use crate::load::sizes::Sampler;
use crate::load::stamp::SECTOR_BYTES;
use crate::plan::{Access, Action, Body, FileRef, FileSet, Job, Op, OpKind, Plan, Region};

/// Bytes of a stamped set that have a generation of their own: a block where all transfers are of whole blocks, else a
/// sector. None for sets without stamps.
///
/// # Errors
///
/// A Plan error for operations that would move or cut stamped sectors.
pub fn unit_of(plan: &Plan, set: &FileSet) -> Result<Option<u64>> {
    if !set.content.stamped {
        return Ok(None);
    }
    let mut unit = BLOCK_BYTES;
    for job in plan.phases.iter().flat_map(|phase| &phase.jobs) {
        let ops = ops_of(job);
        if !ops.iter().any(|op| matches!(&op.file, FileRef::Set { set: name, .. } if *name == set.name)) {
            continue;
        }
        for op in ops {
            for number in numbers_of(op, set)? {
                unit = gcd(unit, number);
            }
        }
    }
    if unit % SECTOR_BYTES as u64 != 0 {
        return Err(refuse(set, "its transfers must be multiples of 512 bytes, in size and in place"));
    }
    Ok(Some(if unit == BLOCK_BYTES { BLOCK_BYTES } else { SECTOR_BYTES as u64 }))
}

/// Numbers that all offsets and sizes of an operation are multiples of.
fn numbers_of(op: &Op, set: &FileSet) -> Result<Vec<u64>> {
    let moves = [
        OpKind::Rename,
        OpKind::Link,
        OpKind::Symlink,
        OpKind::Truncate,
        OpKind::Fallocate,
        OpKind::Clone,
        OpKind::Copy,
    ];
    if moves.contains(&op.op) {
        return Err(refuse(set, &format!("operation '{}' would change what stamps say", op.name)));
    }
    if !matches!(op.op, OpKind::Read | OpKind::Write) {
        return Ok(Vec::new());
    }
    let sizes = Sampler::of_transfers(&op.size)?.values();
    let mut numbers = sizes.ok_or_else(|| {
        refuse(set, &format!("operation '{}' needs sizes that are fixed, or a table of fixed ones", op.name))
    })?;
    let region = match &op.access {
        Access::Sequential { region, .. } => region,
        Access::Backward { region, .. } => {
            // It begins at the file's end.
            let ends = Sampler::new(&set.size)?.values();
            numbers.extend(ends.ok_or_else(|| refuse(set, "reading backward needs files of fixed sizes"))?);
            region
        }
        Access::Stride { region, stride_bytes, .. } => {
            numbers.push(*stride_bytes);
            region
        }
        Access::Random { region, align_bytes, .. } => {
            numbers.push(*align_bytes);
            region
        }
        Access::Whole { chunk_bytes } => {
            numbers.push(*chunk_bytes);
            &Region::Whole {}
        }
        Access::Append {} => return Err(refuse(set, "appending writes where no stamp can be checked")),
    };
    if let Region::Range { from_bytes, length_bytes } = region {
        numbers.extend([*from_bytes, *length_bytes]);
    }
    Ok(numbers)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn ops_of(job: &Job) -> Vec<&Op> {
    fn collect<'a>(actions: &'a [Action], ops: &mut Vec<&'a Op>) {
        for action in actions {
            match action {
                Action::Op { op } => ops.push(op),
                Action::Group { actions, .. } | Action::Repeat { actions, .. } => collect(actions, ops),
                Action::Choice { branches } => branches.iter().for_each(|branch| collect(&branch.actions, ops)),
                _ => {}
            }
        }
    }
    let mut ops = Vec::new();
    match &job.body {
        Body::Loop { actions } => collect(actions, &mut ops),
        Body::Script { ops: templates, .. } => ops.extend(templates),
    }
    ops
}

fn refuse(set: &FileSet, why: &str) -> EngineError {
    EngineError::Plan(format!("file set '{}' has stamped content: {why}", set.name))
}
