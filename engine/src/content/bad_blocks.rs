//! Blocks that are not what was written: how many, and which.

use crate::events::CorruptionKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Bad blocks that are named one by one.
pub const MOST_NAMED: usize = 100;

/// A block that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadBlock {
    /// Its file.
    pub path: PathBuf,
    /// Its place in the file.
    pub offset_bytes: u64,
    /// What happened to it.
    pub kind: CorruptionKind,
}

/// Bad blocks: how many of each kind, the first ones by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadBlocks {
    /// Number and first of each kind.
    pub by_kind: BTreeMap<CorruptionKind, (u64, BadBlock)>,
    /// The first [`MOST_NAMED`] of all kinds.
    pub named: Vec<BadBlock>,
}

impl BadBlocks {
    /// One more.
    pub fn add(&mut self, block: BadBlock) {
        self.by_kind.entry(block.kind).or_insert_with(|| (0, block.clone())).0 += 1;
        if self.named.len() < MOST_NAMED {
            self.named.push(block);
        }
    }

    /// Those of another as well.
    pub fn merge(&mut self, other: Self) {
        for (kind, (blocks, first)) in other.by_kind {
            self.by_kind.entry(kind).or_insert((0, first)).0 += blocks;
        }
        self.named.extend(other.named);
        self.named.truncate(MOST_NAMED);
    }
}
