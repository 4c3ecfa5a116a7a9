//! What was counted of a tree, in memory that does not grow with the number of files.

use super::samples::Samples;
use super::value_counts::ValueCounts;
use serde::{Deserialize, Serialize};

/// Upper bounds of the classes of ages, in days; before them is a class for times that are still to come, after them one
/// for all that is older.
pub const AGE_DAYS: [u32; 7] = [1, 7, 30, 90, 365, 730, 1825];
const AGES: usize = AGE_DAYS.len() + 2;
const DAY_S: i64 = 86_400;
/// Classes of sizes: 0, 1, 2, up to 4, up to 8, ...
const SIZE_CLASSES: usize = 66;
/// Names of what went wrong that are kept.
pub const MOST_NAMED: usize = 8;
/// Bytes of the blocks that stat(2) counts.
const BLOCK_BYTES: u64 = 512;
/// Binary digits after the point, of shares of a file with several names.
const FRACTION_BITS: u32 = 32;

/// What the kernel reports of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// Length.
    pub bytes: u64,
    /// Allocated, in blocks of 512 bytes.
    pub blocks: u64,
    /// Names that it has.
    pub names: u64,
    /// Seconds since its content was changed; negative: changed in the future.
    pub modified_s: i64,
    /// Seconds since it was read.
    pub accessed_s: i64,
    /// Directories above it, the surveyed one included.
    pub depth: usize,
}

/// Files of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCount {
    /// Names of files.
    pub files: u64,
    /// Their lengths.
    pub bytes: u64,
    /// Allocated for them.
    pub allocated_bytes: u64,
}

impl ClassCount {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.allocated_bytes = self.allocated_bytes.saturating_add(other.allocated_bytes);
    }
}

/// Files and directories of one depth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthCount {
    /// Names of files.
    pub files: u64,
    /// Directories.
    pub directories: u64,
}

/// Something that was not gone into, with the first few by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// How many.
    pub count: u64,
    /// The first that were met: path below the directory, and why.
    pub first: Vec<(String, String)>,
}

impl Named {
    /// One more.
    pub fn add(&mut self, path: impl FnOnce() -> String, why: &str) {
        self.count += 1;
        if self.first.len() < MOST_NAMED {
            self.first.push((path(), why.to_owned()));
        }
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        let room = MOST_NAMED.saturating_sub(self.first.len());
        self.first.extend(other.first.into_iter().take(room));
    }
}

/// All that is counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Directories that were read to the end.
    pub directories: u64,
    /// Symbolic links.
    pub links: u64,
    /// Devices, pipes and sockets.
    pub others: u64,
    /// Names of files that have several.
    pub hard_linked: u64,
    /// Files with fewer bytes allocated than they are long.
    pub sparse: u64,
    /// Lengths divided by names: whole bytes, and the rest in parts of 2^-32.
    pub once: (u64, u64),
    /// Sizes of files, by name.
    pub sizes: ValueCounts,
    /// Files by the power of two that they fit into.
    pub classes: Vec<ClassCount>,
    /// By the age of their content.
    pub modified: Vec<ClassCount>,
    /// By their last access.
    pub accessed: Vec<ClassCount>,
    /// By depth, the surveyed directory first.
    pub depths: Vec<DepthCount>,
    /// Entries of directories that were read to the end.
    pub entries: ValueCounts,
    /// Directories that could not be read.
    pub unreadable: Named,
    /// Names whose file could not be looked at.
    pub unseen: Named,
    /// Other file systems and mounts, which were not gone into.
    pub mounts: Named,
    /// Directories left out, because too many were waiting or they lie too deep.
    pub left_out: Named,
    /// What was gone, or something else, when its turn came.
    pub vanished: u64,
    /// Files chosen evenly, of those that are not empty.
    pub by_number: Samples,
    /// Files chosen by their bytes.
    pub by_bytes: Samples,
}

impl Tally {
    /// Count a name of a file.
    pub fn add_file(&mut self, file: FileFacts) {
        let allocated_bytes = file.blocks.saturating_mul(BLOCK_BYTES);
        let class = ClassCount { files: 1, bytes: file.bytes, allocated_bytes };
        let names = file.names.max(1);
        self.hard_linked += u64::from(names > 1);
        self.sparse += u64::from(allocated_bytes < file.bytes);
        self.add_once(file.bytes / names, (((file.bytes % names) as u128) << FRACTION_BITS) as u64 / names);
        self.sizes.add(file.bytes);
        at(&mut self.classes, size_class(file.bytes)).add(class);
        at(&mut self.modified, age_class(file.modified_s)).add(class);
        at(&mut self.accessed, age_class(file.accessed_s)).add(class);
        at(&mut self.depths, file.depth).files += 1;
    }

    /// Count a directory that was read to the end.
    pub fn add_directory(&mut self, depth: usize, entries: u64) {
        self.directories += 1;
        at(&mut self.depths, depth).directories += 1;
        self.entries.add(entries);
    }

    /// Names of files.
    pub fn files(&self) -> u64 {
        self.classes.iter().map(|class| class.files).sum()
    }

    /// Lengths of all names.
    pub fn bytes(&self) -> u64 {
        self.classes.iter().fold(0, |sum, class| class.bytes.saturating_add(sum))
    }

    /// Lengths of all files, each once where all of its names were met: rounded to whole bytes.
    pub fn bytes_once(&self) -> u64 {
        self.once.0.saturating_add(self.once.1 >> (FRACTION_BITS - 1) & 1)
    }

    /// Add what another has.
    pub fn merge(&mut self, other: Self) {
        self.directories += other.directories;
        self.links += other.links;
        self.others += other.others;
        self.hard_linked += other.hard_linked;
        self.sparse += other.sparse;
        self.vanished += other.vanished;
        self.add_once(other.once.0, other.once.1);
        self.sizes.merge(&other.sizes);
        self.entries.merge(&other.entries);
        for (mine, others) in [
            (&mut self.classes, other.classes),
            (&mut self.modified, other.modified),
            (&mut self.accessed, other.accessed),
        ] {
            others.into_iter().enumerate().for_each(|(class, count)| at(mine, class).add(count));
        }
        for (depth, count) in other.depths.into_iter().enumerate() {
            let mine = at(&mut self.depths, depth);
            mine.files += count.files;
            mine.directories += count.directories;
        }
        self.unreadable.merge(other.unreadable);
        self.unseen.merge(other.unseen);
        self.mounts.merge(other.mounts);
        self.left_out.merge(other.left_out);
        self.by_number.merge(other.by_number);
        self.by_bytes.merge(other.by_bytes);
    }

    fn add_once(&mut self, whole: u64, fraction: u64) {
        let fraction = self.once.1 + fraction;
        let carried = fraction >> FRACTION_BITS;
        self.once = (self.once.0.saturating_add(whole).saturating_add(carried), fraction & ((1 << FRACTION_BITS) - 1));
    }
}

/// The element at a place, made with those before it where it is not there.
fn at<T: Copy + Default>(list: &mut Vec<T>, place: usize) -> &mut T {
    if list.len() <= place {
        list.resize(place + 1, T::default());
    }
    &mut list[place]
}

fn size_class(bytes: u64) -> usize {
    match bytes {
        0 => 0,
        1 => 1,
        _ => (bytes - 1).ilog2() as usize + 2,
    }
    .min(SIZE_CLASSES - 1)
}

/// The largest size of a class.
pub fn class_bound(class: usize) -> u64 {
    match class {
        0 => 0,
        _ => 1_u64.checked_shl(class as u32 - 1).unwrap_or(u64::MAX),
    }
}

fn age_class(age_s: i64) -> usize {
    if age_s < 0 {
        return 0;
    }
    1 + AGE_DAYS.iter().take_while(|&&days| age_s > i64::from(days) * DAY_S).count().min(AGES - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileFacts = FileFacts { bytes: 0, blocks: 0, names: 1, modified_s: 0, accessed_s: 0, depth: 1 };

    #[test]
    fn classes_end_at_powers_of_two() {
        for (class, bytes) in [(0, 0), (1, 1), (2, 2), (3, 4), (13, 4096), (64, 1 << 63)] {
            assert_eq!((size_class(bytes), class_bound(class)), (class, bytes));
        }
        assert_eq!([size_class(3), size_class(4097), size_class(u64::MAX)], [3, 14, 65]);
        assert_eq!(class_bound(65), u64::MAX);
    }

    #[test]
    fn ages_end_at_their_days() {
        let day = DAY_S;
        assert_eq!([-1, 0, day, day + 1, 365 * day, 1825 * day, 1825 * day + 1].map(age_class), [0, 1, 1, 2, 5, 7, 8]);
    }

    #[test]
    fn a_file_with_three_names_is_counted_once_in_bytes() {
        let mut tally = Tally::default();
        for bytes in [10, 10, 10, 100, 100, 100] {
            tally.add_file(FileFacts { bytes, names: 3, ..FILE });
        }

        assert_eq!((tally.files(), tally.bytes(), tally.bytes_once(), tally.hard_linked), (6, 330, 110, 6));
    }

    #[test]
    fn two_halves_are_the_whole() {
        let files: Vec<_> = (0..1000_i64)
            .map(|n| FileFacts { bytes: n as u64 * 37, names: 1 + n as u64 % 7, modified_s: n << 18, ..FILE })
            .collect();
        let of = |files: &[FileFacts]| {
            let mut tally = Tally::default();
            files.iter().for_each(|&file| tally.add_file(file));
            tally.add_directory(0, files.len() as u64);
            tally
        };

        let mut halves = of(&files[..300]);
        halves.merge(of(&files[300..]));

        let mut whole = of(&files);
        (whole.entries, whole.directories, whole.depths[0].directories) = (halves.entries.clone(), 2, 2);
        assert_eq!(halves, whole);
        let text = serde_json::to_string(&halves).unwrap();
        assert_eq!(serde_json::from_str::<Tally>(&text).unwrap(), halves);
    }
}
