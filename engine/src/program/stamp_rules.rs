//! Which loads a stamped set bears: only those after which every sector can still be judged.

use crate::content::BLOCK_BYTES;
use crate::content::stamp::SECTOR_BYTES;
use crate::draw::sizes::Sampler;
use crate::error::{EngineError, Result};
use crate::plan::{Access, Body, FileRef, FileSet, Op, Plan, Region, WorkerKind};
use crate::program::op_rules::Stamps;

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
    let mut unit = BLOCK_BYTES as u64;
    for job in plan.phases.iter().flat_map(|phase| &phase.jobs) {
        if !job.body.ops().any(|op| matches!(&op.file, FileRef::Set { set: name, .. } if *name == set.name)) {
            continue;
        }
        if job.kind == WorkerKind::Process {
            return Err(refuse(set, &format!("job '{}' has workers as processes; use threads for it", job.name)));
        }
        if matches!(job.body, Body::Script { .. }) {
            return Err(refuse(set, &format!("job '{}' is a script, whose places are not known beforehand", job.name)));
        }
        if job.open.append {
            return Err(refuse(set, &format!("job '{}' appends, and nobody knows where its writes end up", job.name)));
        }
        if !job.backend.abilities().writes_are_done {
            // A mapped write can stop within a sector, and a stream keeps writes back that it says are done.
            let why = format!("job '{}' needs the backend psync, io_uring or aio for it", job.name);
            return Err(refuse(set, &why));
        }
        for op in job.body.ops() {
            for number in numbers_of(op, set)? {
                unit = gcd(unit, number);
            }
        }
    }
    if unit % SECTOR_BYTES as u64 != 0 {
        return Err(refuse(set, "its transfers must be multiples of 512 bytes, in size and in place"));
    }
    Ok(Some(if unit == BLOCK_BYTES as u64 { unit } else { SECTOR_BYTES as u64 }))
}

/// Numbers that all offsets and sizes of an operation are multiples of.
fn numbers_of(op: &Op, set: &FileSet) -> Result<Vec<u64>> {
    let rules = op.op.rules();
    match rules.stamps {
        Stamps::Misnamed => {
            let why = "would put the stamps of one file under the name of another";
            return Err(refuse(set, &format!("operation '{}' {why}", op.name)));
        }
        Stamps::Unnoted => {
            return Err(refuse(set, &format!("operation '{}' would change what stamps say", op.name)));
        }
        Stamps::Overwritten => {
            return Err(refuse(set, &format!("operation '{}' runs a program, which writes no stamps", op.name)));
        }
        Stamps::Right if !rules.moves_data() => return Ok(Vec::new()),
        Stamps::Right => {}
    }
    let sizes = Sampler::of_transfers(&op.size)?.values();
    let mut numbers = sizes.ok_or_else(|| {
        refuse(set, &format!("operation '{}' needs sizes that are fixed, or a table of fixed ones", op.name))
    })?;
    let region = match &op.access {
        Access::Sequential { region, .. } | Access::Stream { region, .. } => region,
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
        Access::Whole { chunk_bytes, .. } => {
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

fn refuse(set: &FileSet, why: &str) -> EngineError {
    EngineError::Plan(format!("file set '{}' has stamped content: {why}", set.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan of one phase over a stamped set of 64 KiB files; `job` replaces keys of its only job.
    fn unit(op: &str, job: &str) -> Result<Option<u64>> {
        let text = format!(
            r#"{{"schema": "assay.plan/1", "name": "x", "origin": {{"front_end": "native", "source": "", "sha256": ""}},
            "seed": 1, "sample_interval_s": 1.0, "reserve_bytes": 0, "targets": [], "untranslated": [],
            "file_sets": [{{"name": "data", "target": "t", "path": "data", "files": 1,
              "size": {{"kind": "fixed", "value": 65536}}, "layout": {{"kind": "flat"}}, "file_name": "f",
              "existing_share": 1, "reuse": "never", "allocate": "write", "create_workers": 1, "keep": false,
              "content": {{"compress_ratio": 1, "dedupe_ratio": 1, "stamped": true}}}}],
            "phases": [{{"name": "p", "title": "p", "repeat": 0, "cache": "as_is", "before": [], "after": [],
              "ramp_s": 0, "stop": {{"seconds": 1, "ops": null, "bytes": null, "passes": null, "of": "each"}},
              "jobs": [{{"name": "j", "workers": 1, "as": "thread", "arrival": {{"kind": "closed"}}, "queue_depth": 1,
                "affinity": {{"cpus": [], "numa_node": null}}, "limit": {{"ops_per_s": null, "bytes_per_s": null}},
                "stop": {{"seconds": null, "ops": null, "bytes": null, "passes": null, "of": "each"}}, "timed": [],
                "open": {{"direct": "off", "sync": false, "dsync": false, "append": false, "no_access_time": false,
                  "advice": ""}}, "backend": {job},
                "body": {{"kind": "loop", "actions": [{{"kind": "op", "op": {{
                  "op": "write", "name": "w", "file": {{"kind": "set", "set": "data", "pick": {{"kind": "next"}},
                    "slot": null}},
                  "flags": {{"dsync": false, "nowait": false, "cached_first": false, "high_priority": false, "vectors": 0, "advice": "", "keeps_buffer": false, "cold_buffer": false, "chunk_bytes": 0, "argv": []}},
                  {op}}}}}]}}}}]}}]}}"#
        );
        let plan: Plan = serde_json::from_str(&text).unwrap();
        unit_of(&plan, &plan.file_sets[0])
    }

    const PSYNC: &str = r#"{"kind": "psync"}"#;
    const SEQUENTIAL: &str = r#""access": {"kind": "sequential", "region": {"kind": "whole"}, "wrap": true}"#;

    #[test]
    fn the_unit_is_a_block_where_all_transfers_are_of_blocks_and_else_a_sector() {
        let of = |size: &str| unit(&format!(r#"{SEQUENTIAL}, "size": {size}"#), PSYNC).unwrap();

        assert_eq!(of(r#"{"kind": "fixed", "value": 65536}"#), Some(4096));
        assert_eq!(of(r#"{"kind": "fixed", "value": 1536}"#), Some(512));
        assert_eq!(of(r#"{"kind": "tabular", "rows": [[1, 4096, 4096], [1, 512, 512]]}"#), Some(512));
    }

    #[test]
    fn what_no_stamp_survives_is_refused() {
        let fixed = |bytes: u32| format!(r#"{SEQUENTIAL}, "size": {{"kind": "fixed", "value": {bytes}}}"#);
        let any_size = format!(r#"{SEQUENTIAL}, "size": {{"kind": "uniform", "min": 512, "max": 4096}}"#);
        let append = r#""access": {"kind": "append"}, "size": {"kind": "fixed", "value": 4096}"#.to_owned();

        for (op, backend) in [
            (fixed(1000), PSYNC),
            (any_size, PSYNC),
            (append, PSYNC),
            (fixed(4096), r#"{"kind": "mmap"}"#),
            (fixed(4096), r#"{"kind": "stdio", "per_character": false}"#),
        ] {
            assert!(matches!(unit(&op, backend), Err(EngineError::Plan(_))), "{op} {backend}");
        }
    }
}
