//! Bad blocks as events: the first ones by name, all of them counted.

use crate::content::bad_blocks::{BadBlock, BadBlocks};
use crate::emit::Emitter;
use crate::events::Corruption;
use crate::warning_id::WarningId;

/// Warn of one block.
pub fn name(emitter: &Emitter, phase_index: u32, block: &BadBlock) {
    let text = format!(
        "{}: the block at byte {} is {}",
        block.path.display(),
        block.offset_bytes,
        serde_json::to_value(block.kind).ok().as_ref().and_then(|kind| kind.as_str()).unwrap_or("wrong")
    );
    emitter.warn(Some(phase_index), WarningId::CorruptBlock, text);
}

/// Warn of the named blocks, and give the counts of all.
pub fn report(emitter: &Emitter, phase_index: u32, job: &str, operation: &str, bad: &BadBlocks) -> Vec<Corruption> {
    bad.named.iter().for_each(|block| name(emitter, phase_index, block));
    let count = |(kind, (blocks, first)): (&_, &(u64, BadBlock))| Corruption {
        job: job.to_owned(),
        operation: operation.to_owned(),
        kind: *kind,
        blocks: *blocks,
        path: first.path.display().to_string(),
        offset_bytes: first.offset_bytes,
    };
    bad.by_kind.iter().map(count).collect()
}
