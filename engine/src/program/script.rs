//! A script: an explicit list of operations, read before the start into a compact array.
//!
//! The file has one JSON array a line: `[op, file index, offset, size, due_ns]`. `op` is the position of the operation
//! in the Plan's list; the file index is that of its set (its slot, where the operation works on one, wins). `due_ns`
//! above 0 is when the operation is to begin, from the common start: an open loop, whose response time counts from
//! then. Two-name operations (rename, link, symlink, clone, copy) go to the file index that `offset` holds. A script names
//! its files itself, so it leaves the set's count of existing files as it is.

use crate::error::{EngineError, Result};
use crate::plan::{Access, Content, FileSet, Job, ScriptGroup};
use crate::program::lines::{Entry, Lines, LinesBuilder};
use crate::program::op::{CallMode, FileSource, Node, OpNode, OpenFor};
use crate::program::op_rules::{Begins, LONGEST_ATTRIBUTE_BYTES, SizeOf, Works};
use crate::program::script_text::ScriptText;
use std::fs::File;
use std::ops::RangeInclusive;

const LONGEST_TRANSFER_BYTES: u64 = 1 << 30;

/// Read a script, of which worker `w` of `n` does lines `w`, `w + n`, and so on, and check every line against the operations that it refers to. `buffer_bytes` grows to its longest
/// transfer.
///
/// # Errors
///
/// A Plan error with the number of the first line that cannot be carried out; an I/O error for a file that cannot be
/// read.
pub fn compile(job: &Job, path: &str, ops: &[Node], sets: &[FileSet], buffer_bytes: &mut usize) -> Result<Lines> {
    let refuse = |text: String| EngineError::Plan(format!("job '{}': script {path}: {text}", job.name));
    if job.workers > 1 && ops.iter().any(|node| matches!(node, Node::Op(op) if uses_slots(op))) {
        let cure = "its lines are dealt out to the workers one by one, so a slot would miss its file; use 1 worker";
        return Err(refuse(format!("{} workers share operations with slots; {cure}", job.workers)));
    }
    if job.queue_depth > 1 {
        return Err(refuse(format!("queue_depth is {}; a worker does one line at a time: use 1", job.queue_depth)));
    }
    let unread = |error| EngineError::io("read", path, error);
    let file = File::open(path).map_err(|error| EngineError::io("open", path, error))?;
    let mut text = ScriptText::new(file);
    let usual: Vec<Usual> = ops.iter().map(|node| Usual::of(node, sets)).collect();
    let mut builder = LinesBuilder::default();
    while let Some(read) = text.next_line().map_err(unread)? {
        let checked = read.and_then(|entry| match usual.get(entry.op as usize) {
            Some(usual) if usual.holds(entry) => Ok(entry),
            _ => check(entry, ops, sets).map(|()| entry),
        });
        let entry = checked.map_err(|why| refuse(format!("line {}: {why}", text.number())))?;
        if usual[entry.op as usize].moves {
            *buffer_bytes = (*buffer_bytes).max(entry.size as usize);
        }
        builder.push(entry);
    }
    let lines = builder.finish();
    if lines.is_empty() {
        return Err(refuse("it holds no operation; write lines of [op, file index, offset, size, due_ns]".to_owned()));
    }
    Ok(lines)
}

fn uses_slots(op: &OpNode) -> bool {
    op.keep.is_some() || matches!(op.file, FileSource::Slot(_))
}

/// The operations of a line: one, or those of a group.
pub fn members(node: &Node) -> impl Iterator<Item = &OpNode> {
    let (one, several) = match node {
        Node::Op(op) => (Some(op), &[][..]),
        Node::Group { nodes, .. } => (None, &nodes[..]),
        _ => unreachable!("the lines of a script are operations and groups of them"),
    };
    one.into_iter().chain(several.iter().filter_map(|node| if let Node::Op(op) = node { Some(op) } else { None }))
}

/// The operations of a group, ready: what its files are opened for follows from them. An error says what is wrong.
pub fn group(
    job: &Job,
    group: &ScriptGroup,
    mut ops: Vec<OpNode>,
    sets: &[FileSet],
) -> std::result::Result<Vec<OpNode>, String> {
    let refuse = |text: &str| Err(format!("script group '{}': {text}", group.name));
    let cuts = group.chunk_bytes > 0;
    if ops.is_empty() {
        return refuse("it has no operation; give it one");
    }
    if (cuts || group.pooled) && !job.backend.abilities().in_groups {
        return refuse(
            "chunk_bytes and pooled are for the backends psync and stdio; use one of them, or leave them out",
        );
    }
    if group.pooled && !sets.iter().all(|set| is_unique(&set.content)) {
        return refuse(
            "pooled gives bytes that neither compress nor repeat; use file sets with compress_ratio and dedupe_ratio 1 and without zeros",
        );
    }
    if cuts && ops.iter().any(|op| op.kind.rules().moves_data() && (op.rw_flags != 0 || op.vectors > 1)) {
        return refuse("chunk_bytes goes with plain reads and writes; leave flags and vectors out");
    }
    for (position, asked) in group.ops.iter().enumerate() {
        let (before, rest) = ops.split_at_mut(position);
        let op = &mut rest[0];
        op.access = asked.access.clone();
        if group.pooled && op.kind.rules().writes() {
            op.mode = CallMode::Pooled;
        }
        match op.file {
            FileSource::Slot(slot) if !before.iter().any(|op| op.keep == Some(slot)) => {
                return refuse(&format!("operation '{}' works on slot {slot}, which none before it fills", op.name));
            }
            _ => {}
        }
    }
    for opener in 0..ops.len() {
        ops[opener].open_for = opened_for(&ops[opener..]);
    }
    Ok(ops)
}

/// Let the members of a group follow one another without a look at the clock in between, where nothing else lies between
/// them and none is recorded alone: the latency of the group is theirs together. A write whose bytes are pooled has the few
/// that are new made before the first member, so that they are in no latency: the set that they are of.
pub fn join(ops: &mut [OpNode]) -> Option<usize> {
    let makes_first = pooled_alone(ops);
    for at in 1..ops.len() {
        let begins_at_once = match ops[at].kind.rules().begins {
            Begins::AtOnce => !ops[at].cold_buffer,
            Begins::OnceMade => makes_first.is_some(),
            Begins::AfterWork => false,
        };
        let can_end_open = ops[at - 1].kind.rules().ends_open;
        let is_alone = ops[at - 1].series.is_some() || ops[at].series.is_some();
        ops[at - 1].ends_open = begins_at_once && can_end_open && !is_alone;
    }
    makes_first
}

/// The set of the one transfer of a group, if that is a pooled write to a file that a member before it opened by name.
fn pooled_alone(ops: &[OpNode]) -> Option<usize> {
    let mut transfers = ops.iter().enumerate().filter(|(_, op)| op.kind.rules().moves_data());
    let ((at, write), None) = (transfers.next()?, transfers.next()) else { return None };
    let FileSource::Slot(slot) = write.file else { return None };
    let opener = ops[..at].iter().rfind(|op| op.keep == Some(slot))?;
    match opener.file {
        FileSource::Named { set, .. } if write.mode == CallMode::Pooled && !write.cold_buffer => Some(set),
        _ => None,
    }
}

/// Whether content neither compresses nor repeats.
fn is_unique(content: &Content) -> bool {
    content.compress_ratio == 1.0 && content.dedupe_ratio == 1.0 && !content.zeros
}

/// What the first of some operations has to open its file for, from what the others do with it.
fn opened_for(ops: &[OpNode]) -> OpenFor {
    let Some(slot) = ops[0].keep else { return OpenFor::Anything };
    let later = ops[1..].iter().take_while(|op| op.keep != Some(slot));
    let users: Vec<_> = later.filter(|op| matches!(op.file, FileSource::Slot(used) if used == slot)).collect();
    let reads = users.iter().any(|op| op.kind.rules().reads());
    let writes = users.iter().any(|op| op.kind.rules().needs_writing);
    let appends = users.iter().any(|op| op.kind.rules().writes() && op.access == Access::Append {});
    match (reads, writes, appends) {
        (true, _, true) => OpenFor::ReadingAndAppending,
        (false, _, true) => OpenFor::Appending,
        (true, false, false) => OpenFor::Reading,
        (false, true, false) => OpenFor::Writing,
        (true, true, false) | (false, false, false) => OpenFor::Anything,
    }
}

/// Bounds within which every line of an operation or group is right: a closer look is for those beyond.
struct Usual {
    moves: bool,
    sizes: RangeInclusive<u64>,
    /// Above every file index.
    files: u64,
    /// Above every offset.
    offsets: u64,
}

impl Usual {
    fn of(node: &Node, sets: &[FileSet]) -> Self {
        let mut usual =
            Self { moves: false, sizes: 0..=LONGEST_TRANSFER_BYTES, files: u64::MAX, offsets: i64::MAX as u64 };
        for op in members(node) {
            usual.moves |= op.kind.rules().moves_data();
            let sizes = sizes_of(op);
            usual.sizes = (*usual.sizes.start()).max(*sizes.start())..=(*usual.sizes.end()).min(*sizes.end());
            if let FileSource::Named { set, .. } = op.file {
                usual.files = usual.files.min(sets[set].files);
                // The offset is the file index that it goes to.
                if op.kind.rules().has_two_names() {
                    usual.offsets = usual.offsets.min(sets[set].files);
                }
            }
        }
        usual
    }

    #[inline]
    fn holds(&self, entry: Entry) -> bool {
        let is_in_files = u64::from(entry.file) < self.files && entry.offset < self.offsets;
        is_in_files && self.sizes.contains(&entry.size)
    }
}

/// Sizes that a line of an operation can have.
fn sizes_of(op: &OpNode) -> RangeInclusive<u64> {
    match op.kind.rules().size {
        SizeOf::Transfer => 1..=LONGEST_TRANSFER_BYTES,
        SizeOf::Attribute => 0..=LONGEST_ATTRIBUTE_BYTES as u64,
        SizeOf::Nothing | SizeOf::Length | SizeOf::LengthAboveZero => 0..=i64::MAX as u64,
    }
}

/// Check a line against its operations.
fn check(entry: Entry, ops: &[Node], sets: &[FileSet]) -> std::result::Result<(), String> {
    let Some(node) = ops.get(entry.op as usize) else {
        return Err(format!("operation {} does not exist; the job has {}", entry.op, ops.len()));
    };
    members(node).try_for_each(|op| check_entry(entry, op, sets))
}

fn check_entry(entry: Entry, op: &OpNode, sets: &[FileSet]) -> std::result::Result<(), String> {
    let Entry { file, offset, size, .. } = entry;
    if !sizes_of(op).contains(&size) {
        return Err(match op.kind.rules().size {
            SizeOf::Transfer => format!("size is {size}; a transfer has between 1 byte and 1 GiB"),
            SizeOf::Attribute => format!("size is {size}; the value of an attribute has at most 64 KiB"),
            SizeOf::Nothing | SizeOf::Length | SizeOf::LengthAboveZero => {
                format!("size {size} is beyond what a file can have (2^63 - 1)")
            }
        });
    }
    if i64::try_from(offset).is_err() {
        return Err(format!("offset {offset} is beyond what a file can have (2^63 - 1)"));
    }
    // What the worker opened before the start is looked up when it runs.
    let FileSource::Named { set, .. } = op.file else { return Ok(()) };
    let set = &sets[set];
    let beyond = |index: u64| op.kind.rules().works != Works::OnDirectory && index >= set.files;
    if beyond(u64::from(file)) || (op.kind.rules().has_two_names() && beyond(offset)) {
        let (name, files) = (&set.name, set.files);
        return Err(format!("file index {file} or {offset} is beyond file set '{name}', which has {files} files"));
    }
    Ok(())
}
