//! Is a block what was written there, and if not, what happened to it?

use crate::content::BLOCK_BYTES;
use crate::content::generations::{Expected, Generations};
use crate::content::stamp::{SECTOR_BYTES, Sector, Stamper};
use crate::events::CorruptionKind;

const BLOCK: u64 = BLOCK_BYTES as u64;

/// Reads stamps and compares them with what was written.
#[derive(Debug)]
pub struct Judge<'a> {
    /// Content seed of the set.
    pub seed: u64,
    /// Files of the set that were written as a whole when they were laid out: those below this index.
    pub written_files: u64,
    /// How often its blocks were written.
    pub generations: &'a Generations,
    /// Reader of stamps.
    pub stamper: Stamper,
}

/// Sectors of a block by what they are.
#[derive(Debug, Default)]
struct Count {
    all: u32,
    right: u32,
    old: u32,
    never: u32,
    zeros: u32,
    wrong: u32,
    misplaced: u32,
    newest: u64,
    oldest: Option<u64>,
    may_mix: bool,
}

impl Judge<'_> {
    /// Judge what was read of a file, block by block; `bad` hears the offset and the kind of each that is not right.
    /// `buffer` is changed; a rest shorter than a sector carries no stamp and is passed over. `before` gives the state of
    /// the generation at an offset when the read was issued.
    pub fn blocks(
        &self,
        buffer: &mut [u8],
        file: u64,
        offset_bytes: u64,
        before: impl Fn(u64) -> u64,
        mut bad: impl FnMut(u64, CorruptionKind),
    ) {
        let mut at = offset_bytes;
        let mut rest = buffer;
        while !rest.is_empty() {
            let length = (BLOCK - at % BLOCK).min(rest.len() as u64);
            let (block, after) = rest.split_at_mut(length as usize);
            if let Some(kind) = self.block(block, file, at, &before) {
                bad(at, kind);
            }
            at += length;
            rest = after;
        }
    }

    /// The blocks of a file that end beyond its end on storage, from `at` to where the file should end.
    pub fn missing(&self, file: u64, at: u64, end: u64, mut bad: impl FnMut(u64, CorruptionKind)) {
        for offset in (at.next_multiple_of(BLOCK)..end).step_by(BLOCK_BYTES) {
            let before = self.generations.before_read(file, offset);
            let floor = self.generations.expected(file, offset, before).map_or(0, |expected| expected.floor);
            if floor > 0 || !self.may_be_unwritten(file) {
                bad(offset, CorruptionKind::NeverWritten);
            }
        }
    }

    fn may_be_unwritten(&self, file: u64) -> bool {
        file >= self.written_files
    }

    fn block(&self, block: &mut [u8], file: u64, at: u64, before: impl Fn(u64) -> u64) -> Option<CorruptionKind> {
        let may_be_unwritten = self.may_be_unwritten(file);
        let mut count = Count::default();
        let unit = self.generations.unit_bytes();
        let mut known: Option<(u64, Option<Expected>)> = None;
        for (sector, offset) in block.chunks_exact_mut(SECTOR_BYTES).zip((at..).step_by(SECTOR_BYTES)) {
            let expected = match known {
                Some((of, expected)) if of == offset / unit => expected,
                _ => self.generations.expected(file, offset, before(offset)),
            };
            known = Some((offset / unit, expected));
            count.all += 1;
            let (floor, issued) = expected.map_or((0, u64::MAX), |expected| (expected.floor, expected.issued));
            count.may_mix |= expected.is_none_or(|expected| expected.may_mix) || unit < BLOCK;
            match self.stamper.read(sector) {
                Sector::Garbage if expected.is_some_and(|expected| expected.overlapped) => count.right += 1,
                Sector::Garbage => count.wrong += 1,
                Sector::Zeros if may_be_unwritten && floor == 0 => count.never += 1,
                Sector::Zeros => count.zeros += 1,
                Sector::Stamped(stamp) => {
                    if (stamp.set, stamp.file, stamp.offset) != (self.seed, file, offset) {
                        count.misplaced += 1;
                    } else if stamp.generation > issued {
                        count.wrong += 1;
                    } else if stamp.generation < floor {
                        count.old += 1;
                    } else {
                        count.right += 1;
                    }
                    count.newest = count.newest.max(stamp.generation);
                    count.oldest = Some(count.oldest.map_or(stamp.generation, |old| old.min(stamp.generation)));
                }
            }
        }
        count.verdict()
    }
}

impl Count {
    fn verdict(&self) -> Option<CorruptionKind> {
        let mixed = self.oldest.is_some_and(|oldest| oldest < self.newest) || (self.never > 0 && self.right > 0);
        if self.wrong > 0 {
            Some(CorruptionKind::WrongData)
        } else if self.misplaced > 0 {
            Some(CorruptionKind::Misplaced)
        } else if self.zeros > 0 && self.zeros == self.all {
            Some(CorruptionKind::NeverWritten)
        } else if self.zeros > 0 || (self.old > 0 && self.old < self.all) {
            Some(CorruptionKind::Torn)
        } else if self.old > 0 {
            // All old; of several generations it was torn before it went stale.
            Some(if mixed && !self.may_mix { CorruptionKind::Torn } else { CorruptionKind::Stale })
        } else if mixed && !self.may_mix {
            Some(CorruptionKind::Torn)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::fill::ContentFill;
    use crate::files::fileset::FileSetState;
    use crate::files::fileset::tests::set;
    use crate::files::root::Root;
    use crate::plan::{Allocate, Content, Layout};

    struct Desk {
        _folder: tempfile::TempDir,
        state: FileSetState,
        generations: Generations,
        fill: ContentFill,
    }

    impl Desk {
        fn new(allocate: Allocate) -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("data")).unwrap();
            let mut plan = set(2, 65_536.0, Layout::Flat {});
            plan.content = Content { stamped: true, ..plan.content };
            plan.allocate = allocate;
            let state = FileSetState::new(&plan, &Root::of(folder.path()), 1).unwrap();
            let generations = state.open_generations(4096, true).unwrap();
            let fill = ContentFill::new(state.content_seed(), &plan.content, 0).unwrap();
            Self { _folder: folder, state, generations, fill }
        }

        /// Content of a block as of a generation.
        fn content(&mut self, file: u64, offset: u64, generation: u64) -> Vec<u8> {
            let mut block = vec![0; 4096];
            self.fill.fill(&mut block, file, offset, generation);
            block
        }

        fn write(&self, times: u32) {
            for _ in 0..times {
                self.generations.begin_write(0, 8192);
                self.generations.end_write(0, 8192, true);
            }
        }

        /// The verdict on what is found at offset 8192 of file 0.
        fn judge(&self, mut found: Vec<u8>) -> Vec<(u64, CorruptionKind)> {
            let judge = self.state.judge(&self.generations, Stamper::new());
            let mut bad = Vec::new();
            let before = |offset| self.generations.before_read(0, offset);
            judge.blocks(&mut found, 0, 8192, before, |offset, kind| bad.push((offset, kind)));
            bad
        }
    }

    #[test]
    fn what_was_written_last_is_right() {
        let mut desk = Desk::new(Allocate::Write);
        let found = desk.content(0, 8192, 0);
        assert_eq!(desk.judge(found), []);

        desk.write(3);

        let found = desk.content(0, 8192, 3);
        assert_eq!(desk.judge(found), []);
    }

    #[test]
    fn each_kind_of_damage_has_its_name() {
        let mut desk = Desk::new(Allocate::Write);
        desk.write(2);
        let good = desk.content(0, 8192, 2);
        let old = desk.content(0, 8192, 1);
        let mut flipped = good.clone();
        flipped[3000] ^= 4;
        let torn = [&good[..2048], &old[2048..]].concat();
        let moved = desk.content(0, 4096, 2);
        let of_other_file = desk.content(1, 8192, 2);
        let half_zero = [&good[..2048], &[0; 2048][..]].concat();

        for (found, kind) in [
            (flipped, CorruptionKind::WrongData),
            (old, CorruptionKind::Stale),
            (torn, CorruptionKind::Torn),
            (half_zero, CorruptionKind::Torn),
            (moved, CorruptionKind::Misplaced),
            (of_other_file, CorruptionKind::Misplaced),
            (vec![0; 4096], CorruptionKind::NeverWritten),
        ] {
            assert_eq!(desk.judge(found), [(8192, kind)]);
        }
    }

    #[test]
    fn zeros_are_right_where_nothing_was_written() {
        let desk = Desk::new(Allocate::Sparse);
        assert_eq!(desk.judge(vec![0; 4096]), []);

        desk.write(1);

        assert_eq!(desk.judge(vec![0; 4096]), [(8192, CorruptionKind::NeverWritten)]);
    }

    #[test]
    fn a_read_during_a_write_may_find_parts_of_both() {
        let mut desk = Desk::new(Allocate::Write);
        desk.write(1);
        desk.generations.begin_write(0, 8192);
        let mixed = [&desk.content(0, 8192, 2)[..512], &desk.content(0, 8192, 1)[512..]].concat();

        assert_eq!(desk.judge(mixed), []);
        assert_eq!(desk.judge(vec![0x5a; 4096]), [], "half a sector of each");

        desk.generations.end_write(0, 8192, true);
        assert_eq!(desk.judge(vec![0x5a; 4096]), [(8192, CorruptionKind::WrongData)]);
    }
}
