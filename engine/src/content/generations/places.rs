//! Where the blocks of each file of a set begin in its table.

/// How large the files of a set are.
pub struct Sizes<'a> {
    /// Number of files.
    pub files: u64,
    /// Size of each in bytes, if all are equal.
    pub fixed: Option<u64>,
    /// Size of one.
    pub size_of: &'a dyn Fn(u64) -> u64,
}

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
    pub fn new(set: &Sizes<'_>, unit_bytes: u64) -> Self {
        if let Some(size) = set.fixed {
            return Self::Equal { blocks: size.div_ceil(unit_bytes), files: set.files };
        }
        let blocks = (0..set.files).map(|index| (set.size_of)(index).div_ceil(unit_bytes));
        let ends = blocks.scan(0, |end, blocks| {
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
