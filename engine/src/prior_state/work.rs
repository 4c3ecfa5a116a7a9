//! What do the programs of a phase do to which set, as far as the past matters to it?

use crate::plan::{Access, OpKind, Region};
use crate::program::op::{FileSource, OpNode, Program};
use std::collections::BTreeSet;

/// Sets, by index into the Plan's, and what is done to them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// New inodes are made in them, and none gets another name: the latest names are those of new inodes.
    pub creates: BTreeSet<usize>,
    /// Names are made or removed in them.
    pub changes_names: BTreeSet<usize>,
    /// Names are looked up or listed in them.
    pub looks_up: BTreeSet<usize>,
    /// Files are read to their ends, and none is written or cut.
    pub reads_alone: BTreeSet<usize>,
}

impl Work {
    /// Of all programs of a phase together.
    pub fn of(programs: &[Program]) -> Self {
        let mut work = Self::default();
        let (mut renames, mut writes) = (BTreeSet::<usize>::new(), BTreeSet::<usize>::new());
        for program in programs {
            for op in program.ops() {
                let sets = sets_of(program, op);
                if makes_inodes(op.kind) {
                    work.creates.extend(&sets);
                }
                if changes_names(op.kind) {
                    work.changes_names.extend(&sets);
                }
                if matches!(op.kind, OpKind::Rename | OpKind::Link) {
                    renames.extend(&sets);
                }
                if looks_up(op) {
                    work.looks_up.extend(&sets);
                }
                if op.kind == OpKind::Read && goes_everywhere(&op.access) {
                    work.reads_alone.extend(&sets);
                }
                if changes_blocks(op.kind) {
                    writes.extend(&sets);
                }
            }
        }
        work.creates.retain(|set| !renames.contains(set));
        work.reads_alone.retain(|set| !writes.contains(set));
        work
    }
}

/// Where the files of an operation come from; all sets of the program, where what is in its slot is not known.
fn sets_of(program: &Program, op: &OpNode) -> Vec<usize> {
    let own = |source: &FileSource| match *source {
        FileSource::Opened { opened, .. } => Some(program.opened[opened].set),
        FileSource::Named { set, .. } => Some(set),
        FileSource::Slot(_) => None,
    };
    let FileSource::Slot(slot) = op.file else { return own(&op.file).into_iter().collect() };
    let kept: Vec<_> = program.ops().filter(|op| op.keep == Some(slot)).filter_map(|op| own(&op.file)).collect();
    if kept.is_empty() { program.sets.clone() } else { kept }
}

fn makes_inodes(kind: OpKind) -> bool {
    matches!(kind, OpKind::Create | OpKind::Mkdir | OpKind::Symlink | OpKind::Copy)
}

fn changes_names(kind: OpKind) -> bool {
    use OpKind::{Clone, Link, Rename, Rmdir, Spawn, Unlink};
    makes_inodes(kind) || matches!(kind, Clone | Link | Rename | Rmdir | Spawn | Unlink)
}

fn looks_up(op: &OpNode) -> bool {
    use OpKind::{Chmod, Getxattr, Open, Readdir, ReaddirStat, Setxattr, Stat, Truncate};
    let is_by_name = matches!(op.file, FileSource::Named { .. });
    let by_name = matches!(op.kind, Chmod | Getxattr | Open | Readdir | ReaddirStat | Setxattr | Stat | Truncate);
    is_by_name && (by_name || changes_names(op.kind))
}

fn changes_blocks(kind: OpKind) -> bool {
    use OpKind::{Clone, Copy, Create, Discard, Fallocate, PunchHole, Spawn, Truncate, TruncateAt, Write, WriteZeroes};
    matches!(
        kind,
        Clone | Copy | Create | Discard | Fallocate | PunchHole | Spawn | Truncate | TruncateAt | Write | WriteZeroes
    )
}

/// Whether it is of the whole file, or of equal shares of it, and not of one part that may lie beside the holes.
fn goes_everywhere(access: &Access) -> bool {
    match access {
        Access::Sequential { region, .. }
        | Access::Stream { region, .. }
        | Access::Backward { region, .. }
        | Access::Stride { region, .. }
        | Access::Random { region, .. } => !matches!(region, Region::Range { .. }),
        Access::Whole { .. } => true,
        Access::Append {} => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::plans::{act, job, on_set, on_slot, op_on, phase, set};
    use crate::plan::{FileRef, Op, Pick, Stop};
    use crate::program::compile::compile;

    fn of(ops: Vec<Op>) -> Work {
        let job = job("job", ops.into_iter().map(act).collect(), Stop::default());
        Work::of(&[compile(&job, &phase(Vec::new(), Vec::new()), &[set(20, 0.5, 8192.0)]).unwrap()])
    }

    fn read_of(region: Region) -> Op {
        let file = FileRef::Set { set: "data".to_owned(), pick: Pick::Next {}, slot: None };
        let access = Access::Sequential { region, wrap: true };
        Op { access, ..op_on(OpKind::Read, "read", file, 4096.0) }
    }

    #[test]
    fn what_is_looked_for_follows_from_the_operations() {
        let plain = |kind: OpKind| on_set(kind, "op", 4096.0, None);
        let (nothing, data) = (BTreeSet::new(), BTreeSet::from([0]));
        let part = Region::Range { from_bytes: 0, length_bytes: 4096 };
        for (about, ops, [creates, changes_names, looks_up, reads_alone]) in [
            (
                "create",
                vec![on_set(OpKind::Create, "op", 0.0, Some(0)), on_slot(OpKind::Close, "close", 0.0)],
                [1, 1, 1, 0],
            ),
            ("create, rename", vec![on_set(OpKind::Create, "op", 0.0, Some(0)), plain(OpKind::Rename)], [0, 1, 1, 0]),
            ("unlink", vec![plain(OpKind::Unlink)], [0, 1, 1, 0]),
            ("stat", vec![plain(OpKind::Stat)], [0, 0, 1, 0]),
            ("readdir", vec![plain(OpKind::Readdir)], [0, 0, 1, 0]),
            ("read", vec![read_of(Region::Whole {})], [0, 0, 0, 1]),
            ("read of a part", vec![read_of(part)], [0, 0, 0, 0]),
            ("write", vec![plain(OpKind::Write)], [0, 0, 0, 0]),
            ("read, write", vec![read_of(Region::Whole {}), plain(OpKind::Write)], [0, 0, 0, 0]),
            (
                "open, read",
                vec![on_set(OpKind::Open, "op", 0.0, Some(0)), on_slot(OpKind::Read, "read", 4096.0)],
                [0, 0, 1, 1],
            ),
        ] {
            let sets = |is: i32| if is == 1 { data.clone() } else { nothing.clone() };
            let expected = Work {
                creates: sets(creates),
                changes_names: sets(changes_names),
                looks_up: sets(looks_up),
                reads_alone: sets(reads_alone),
            };
            assert_eq!(of(ops), expected, "{about}");
        }
    }
}
