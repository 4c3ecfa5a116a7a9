//! Which directory holds which file: blocks of neighbouring indices over numbered leaves.
//!
//! A flat set is one leaf at depth 0; `per_directory` is depth 1; a tree has `width^depth` leaves. Leaves
//! get equal blocks of indices, the first ones one more where the division leaves a rest.

use crate::error::{EngineError, Result};
use crate::plan::Layout;
use std::ops::Range;

/// The directories of a set and the files in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    files: u64,
    width: u64,
    depth: u32,
    leaves: u64,
    block: u64,
    longer_leaves: u64,
}

impl Spread {
    /// Spread `files` indices by a layout.
    ///
    /// # Errors
    ///
    /// A Plan error for a layout without room for a file, or one that this engine does not carry out.
    pub fn new(set: &str, layout: &Layout, files: u64) -> Result<Self> {
        let spread = match *layout {
            Layout::Flat {} => Self { files, width: 1, depth: 0, leaves: 1, block: files, longer_leaves: 0 },
            Layout::PerDirectory { files: 0 } => return Err(unfit(set, "per_directory holds 0 files; give 1 or more")),
            Layout::PerDirectory { files: block } => {
                let leaves = files.div_ceil(block);
                Self { files, width: leaves, depth: 1, leaves, block, longer_leaves: 0 }
            }
            Layout::Tree { width: 0, .. } => return Err(unfit(set, "a tree of width 0 has no leaves; give 1 or more")),
            Layout::Tree { width, depth } => Self::tree(set, u64::from(width), depth, files)?,
            Layout::TreeGamma { .. } => return Err(unfit(set, "this engine does not carry out tree_gamma yet")),
        };
        Ok(spread)
    }

    fn tree(set: &str, width: u64, depth: u32, files: u64) -> Result<Self> {
        const MOST_LEAVES: u64 = 1 << 32;
        let leaves = width.checked_pow(depth).filter(|leaves| *leaves <= MOST_LEAVES).ok_or_else(|| {
            unfit(set, &format!("a tree of width {width} and depth {depth} has more than 2^32 leaves; make it smaller"))
        })?;
        Ok(Self { files, width, depth, leaves, block: files / leaves, longer_leaves: files % leaves })
    }

    /// Levels of directories below the set's folder.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Sub-directories of each directory that is not a leaf.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Directories of one level; level 0 is the set's folder.
    pub fn directories_at(&self, level: u32) -> u64 {
        self.width.pow(level)
    }

    /// Directories below the set's folder.
    pub fn directories(&self) -> u64 {
        (1..=self.depth).map(|level| self.directories_at(level)).sum()
    }

    /// The leaf that holds a file.
    #[inline]
    pub fn leaf_of(&self, index: u64) -> u64 {
        let in_longer = self.longer_leaves * (self.block + 1);
        if index < in_longer { index / (self.block + 1) } else { self.longer_leaves + (index - in_longer) / self.block }
    }

    /// The files that a leaf holds.
    pub fn files_of(&self, leaf: u64) -> Range<u64> {
        let from = |leaf: u64| (leaf * self.block + leaf.min(self.longer_leaves)).min(self.files);
        from(leaf)..from(leaf + 1)
    }

    /// The number within its parent of the directory `number` of a level, at each level from the top down to `level`.
    pub fn turns(&self, level: u32, number: u64) -> impl Iterator<Item = u64> + '_ {
        (1..=level).map(move |upper| number / self.width.pow(level - upper) % self.width)
    }
}

fn unfit(set: &str, why: &str) -> EngineError {
    EngineError::Plan(format!("file set '{set}': {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spread(layout: &Layout, files: u64) -> Spread {
        Spread::new("data", layout, files).unwrap()
    }

    #[test]
    fn files_per_directory_fill_one_directory_after_the_other() {
        let spread = spread(&Layout::PerDirectory { files: 100 }, 250);

        assert_eq!((spread.directories(), spread.leaf_of(99), spread.leaf_of(100)), (3, 0, 1));
        assert_eq!(spread.files_of(2), 200..250);
    }

    #[test]
    fn a_tree_has_all_its_directories_even_with_fewer_files_than_leaves() {
        let spread = spread(&Layout::Tree { width: 3, depth: 2 }, 4);

        assert_eq!(spread.directories(), 3 + 9);
        assert_eq!(spread.files_of(3), 3..4);
        assert!(spread.files_of(8).is_empty());
    }

    #[test]
    fn turns_are_the_digits_of_a_leaf_in_base_width() {
        let spread = spread(&Layout::Tree { width: 10, depth: 3 }, 1000);

        assert_eq!(spread.turns(3, 407).collect::<Vec<_>>(), [4, 0, 7]);
    }

    #[test]
    fn gamma_trees_are_refused() {
        let error = Spread::new("bigset", &Layout::TreeGamma { mean_width: 20.0, gamma: 1.5 }, 10).unwrap_err();

        assert_eq!(error.to_string(), "file set 'bigset': this engine does not carry out tree_gamma yet");
    }

    #[test]
    fn trees_without_end_are_refused() {
        assert!(Spread::new("data", &Layout::Tree { width: 1000, depth: 30 }, 10).is_err());
    }

    proptest! {
        #[test]
        fn every_file_is_in_the_range_of_its_leaf(files in 1_u64..5000, width in 1_u32..6, depth in 0_u32..5) {
            for layout in [Layout::Tree { width, depth }, Layout::PerDirectory { files: u64::from(width) }, Layout::Flat {}] {
                let spread = Spread::new("data", &layout, files).unwrap();
                let leaves = spread.directories_at(spread.depth());
                prop_assert_eq!((0..leaves).map(|leaf| spread.files_of(leaf).count() as u64).sum::<u64>(), files);
                for index in (0..files).step_by(7) {
                    prop_assert!(spread.files_of(spread.leaf_of(index)).contains(&index));
                }
            }
        }
    }
}
