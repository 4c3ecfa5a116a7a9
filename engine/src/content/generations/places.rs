//! Where the blocks of each file of a set begin in its table.

use crate::files::fileset::FileSetState;

/// Where the blocks of a file begin in the table.
#[derive(Debug)]
pub(super) enum Places {
    Equal {
        blocks: u64,
        files: u64,
    },
    /// One more than there are files.
    Begins(Vec<u64>),
}

impl Places {
    pub fn new(state: &FileSetState, unit_bytes: u64) -> Self {
        if let Some(size) = state.fixed_size() {
            return Self::Equal { blocks: size.div_ceil(unit_bytes), files: state.files() };
        }
        let sizes = (0..state.files()).map(|index| state.size_of(index).div_ceil(unit_bytes));
        let ends = sizes.scan(0, |end, blocks| {
            *end += blocks;
            Some(*end)
        });
        Self::Begins(std::iter::once(0).chain(ends).collect())
    }

    /// Blocks of all files.
    pub fn total(&self) -> u64 {
        match self {
            Self::Equal { blocks, files } => blocks * files,
            Self::Begins(begins) => begins[begins.len() - 1],
        }
    }

    /// Place of one block; None beyond the end of the file's size.
    #[inline]
    pub fn find(&self, file: u64, block: u64) -> Option<usize> {
        let (begin, end) = match self {
            Self::Equal { blocks, files } => {
                if file >= *files {
                    return None;
                }
                (file * blocks, (file + 1) * blocks)
            }
            Self::Begins(begins) => (*begins.get(file as usize)?, *begins.get(file as usize + 1)?),
        };
        let place = begin + block;
        (place < end).then_some(place as usize)
    }
}
