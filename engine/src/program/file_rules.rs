//! Which files each kind of operation works on: what `pick` and `slot` may say there, and what a slot holds after it.
//!
//! The Plan lists these rules with the kinds of operations (`OpKind`). They are checked before a file is touched.

use crate::plan::{Action, Body, Distribution, FileRef, FileSet, Job, Op, OpKind, Phase, Pick};
use crate::sys::advice::Advice;

/// What an operation needs of the file that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Works {
    /// An open file: one that the worker opened before the start, or a slot with a handle.
    OnHandle,
    /// The file's name or, where a slot holds one, its handle.
    OnEither,
    /// A name of the set; a slot will not do, because the set counts which of its names exist.
    OnName,
    /// A directory of the set.
    OnDirectory,
}

/// What a slot holds after an operation that keeps its file there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// A handle that `close` may close.
    Handle,
    /// A handle that stays open: the worker opened it before the start.
    Lent,
    /// The file's name.
    Name,
}

/// What a kind of operation works on.
pub fn works(kind: OpKind) -> Works {
    match kind {
        OpKind::Read
        | OpKind::Write
        | OpKind::Fsync
        | OpKind::Fdatasync
        | OpKind::SyncFileRange
        | OpKind::Close
        | OpKind::Fstat
        | OpKind::Fallocate
        | OpKind::Advise
        | OpKind::Lock
        | OpKind::LockShared
        | OpKind::Unlock => Works::OnHandle,
        OpKind::Stat | OpKind::Truncate | OpKind::Chmod | OpKind::Setxattr | OpKind::Getxattr | OpKind::Spawn => {
            Works::OnEither
        }
        OpKind::Create
        | OpKind::Open
        | OpKind::Unlink
        | OpKind::Rename
        | OpKind::Link
        | OpKind::Symlink
        | OpKind::Mkdir
        | OpKind::Rmdir
        | OpKind::Clone
        | OpKind::Copy => Works::OnName,
        OpKind::Readdir | OpKind::ReaddirStat => Works::OnDirectory,
    }
}

/// What an operation on a file of a set leaves in its slot; `None` where it has nothing to leave.
pub fn kept(kind: OpKind) -> Option<Kept> {
    match kind {
        OpKind::Create | OpKind::Open => Some(Kept::Handle),
        OpKind::Unlink | OpKind::Mkdir | OpKind::Rmdir => None,
        _ => match works(kind) {
            Works::OnHandle => Some(Kept::Lent),
            Works::OnEither | Works::OnName => Some(Kept::Name),
            Works::OnDirectory => None,
        },
    }
}

/// Whether an operation makes its file writable first: the files opened before the start are opened for it.
pub fn writes(kind: OpKind) -> bool {
    matches!(kind, OpKind::Write | OpKind::Fallocate | OpKind::Lock)
}

/// Whether an operation takes a free name of the set.
pub fn takes_new(kind: OpKind) -> bool {
    use OpKind::{Clone, Copy, Create, Link, Mkdir, Rename, Symlink};
    matches!(kind, Create | Mkdir | Rename | Link | Symlink | Clone | Copy)
}

/// Whether an operation takes a name of the set away.
pub fn takes_old(kind: OpKind) -> bool {
    matches!(kind, OpKind::Unlink | OpKind::Rmdir | OpKind::Rename)
}

/// Whether a worker of a phase may come to remove a file of a set while another works on it by its name.
pub fn removes_beside(phase: &Phase, set: &str) -> bool {
    let workers: u64 = phase.jobs.iter().map(|job| u64::from(job.workers)).sum();
    let is_of_set = |file: &FileRef| matches!(file, FileRef::Set { set: named, .. } if named == set);
    // A script changes the files, not which of them the set has for others.
    let mut loops = phase.jobs.iter().filter(|job| matches!(job.body, Body::Loop { .. })).flat_map(ops_of);
    workers > 1 && loops.any(|op| takes_old(op.op) && is_of_set(&op.file))
}

/// All operations of a job.
pub fn ops_of(job: &Job) -> Vec<&Op> {
    fn collect<'a>(actions: &'a [Action], ops: &mut Vec<&'a Op>) {
        for action in actions {
            match action {
                Action::Op { op } => ops.push(op),
                Action::Group { actions, .. } | Action::Repeat { actions, .. } => collect(actions, ops),
                Action::Choice { branches } => branches.iter().for_each(|branch| collect(&branch.actions, ops)),
                _ => {}
            }
        }
    }
    let mut ops = Vec::new();
    match &job.body {
        Body::Loop { actions } => collect(actions, &mut ops),
        Body::Script { ops: templates, groups, .. } => {
            ops.extend(templates);
            ops.extend(groups.iter().flat_map(|group| &group.ops));
        }
    }
    ops
}

/// Check an operation's `pick`, `slot` and size on a set. The text says what is wrong and what to write instead.
pub fn check_set(op: &Op, set: &FileSet, pick: &Pick, keeps: bool) -> Result<(), String> {
    let kind = name_of(op.op);
    let is_new = *pick == Pick::New {};
    let is_order = matches!(pick, Pick::Listed {} | Pick::Shuffled {});
    match op.op {
        OpKind::Create if *pick == (Pick::Shuffled {}) => {}
        OpKind::Unlink | OpKind::Stat | OpKind::Open if is_order => {}
        _ if is_order => {
            let cure = "listed goes with stat, open and unlink, shuffled with these and create; use another pick";
            return Err(format!("{kind} does not take files in that order: {cure}"));
        }
        OpKind::Create | OpKind::Mkdir if !is_new => return Err(format!("{kind} makes a new name; use pick 'new'")),
        OpKind::Unlink | OpKind::Rmdir | OpKind::Rename if *pick != (Pick::Existing {}) => {
            return Err(format!("{kind} takes the files of the set in turn; use pick 'existing'"));
        }
        OpKind::Create | OpKind::Mkdir | OpKind::Spawn => {}
        _ if is_new => {
            return Err(format!("{kind} works on what exists; pick 'new' goes with create, mkdir and spawn"));
        }
        _ => {}
    }
    if works(op.op) == Works::OnDirectory && !matches!(pick, Pick::Next {} | Pick::Own {} | Pick::Random { .. }) {
        return Err(format!("{kind} lists the set's directories; use pick 'next', 'random' or 'own'"));
    }
    if keeps && kept(op.op).is_none() {
        return Err(format!("{kind} leaves no file that a slot could keep; take the slot away"));
    }
    let full = set.existing_share >= 1.0;
    if full && takes_new(op.op) && !matches!(op.op, OpKind::Create | OpKind::Mkdir) {
        return Err(format!(
            "{kind} needs free names, and all {} of file set '{}' exist; give it an existing_share below 1",
            set.files, set.name
        ));
    }
    let mixes_content = matches!(op.op, OpKind::Rename | OpKind::Link | OpKind::Symlink | OpKind::Clone | OpKind::Copy);
    if set.content.stamped && mixes_content {
        return Err(format!(
            "{kind} puts the stamps of one file under the name of another, which reads would report as damage; use a \
             file set without stamped content"
        ));
    }
    if set.content.stamped && op.op == OpKind::Spawn {
        return Err(format!(
            "{kind} runs a program that writes no stamps, which reads would report as damage; use a file set without \
             stamped content"
        ));
    }
    if matches!(op.op, OpKind::Mkdir | OpKind::Rmdir) && set.existing_share > 0.0 {
        return Err(format!(
            "{kind} works on directories, and file set '{}' begins with files; use a set of its own with \
             existing_share = 0",
            set.name
        ));
    }
    Ok(())
}

/// Whether an operation's advice is one that it knows: that of posix_fadvise(2) for `advise`, `wait` for
/// `sync_file_range`.
pub fn check_advice(op: &Op) -> Result<(), String> {
    let (name, advice) = (&op.name, op.flags.advice.as_str());
    let known = match op.op {
        OpKind::Advise if Advice::named(advice).is_some() => return Ok(()),
        OpKind::Advise => Advice::names(),
        _ if advice.is_empty() => return Ok(()),
        OpKind::SyncFileRange if advice == "wait" => return Ok(()),
        OpKind::SyncFileRange => "'wait' or nothing".to_owned(),
        kind => return Err(format!("operation '{name}': {} takes no advice; take it away", name_of(kind))),
    };
    Err(format!("operation '{name}': advice is '{advice}'; it can be {known}"))
}

/// Memory that an operation needs beside the transfer buffer, for values of at most `longest_bytes`.
pub fn scratch_bytes(op: &Op, longest_bytes: u64) -> Result<usize, String> {
    const LISTING_BYTES: usize = 32 << 10; // as much as readdir(3) asks for at once
    const LONGEST_ATTRIBUTE_BYTES: usize = 64 << 10; // XATTR_SIZE_MAX of the kernel
    match op.op {
        OpKind::Readdir | OpKind::ReaddirStat => Ok(LISTING_BYTES),
        OpKind::Setxattr if longest_bytes > LONGEST_ATTRIBUTE_BYTES as u64 => {
            Err(format!("operation '{}': size is that of the value; it has at most 64 KiB", op.name))
        }
        OpKind::Setxattr | OpKind::Getxattr => Ok(LONGEST_ATTRIBUTE_BYTES),
        OpKind::Fallocate if op.size == (Distribution::Fixed { value: 0.0 }) => {
            Err(format!("operation '{}' allocates 0 bytes; size is the length to allocate", op.name))
        }
        _ => Ok(0),
    }
}

/// Why every operation of this kind fails here, and what to do, if that is what the error number says.
pub fn unsupported(kind: OpKind, errno: i32) -> Option<&'static str> {
    if !matches!(errno, libc::EOPNOTSUPP | libc::ENOSYS | libc::ENOTTY) {
        return None;
    }
    Some(match kind {
        OpKind::Clone => "the file system has no reflinks, XFS and Btrfs have; use copy instead",
        OpKind::Copy => "the kernel cannot copy within this file system; read and write instead",
        OpKind::Fallocate => "the file system cannot allocate without writing; write instead",
        OpKind::Setxattr | OpKind::Getxattr => "the file system keeps no user attributes; mount it with user_xattr",
        _ => "the file system does not offer it; take it out of the load",
    })
}

/// The word for a kind of operation, as the Plan writes it.
pub fn name_of(kind: OpKind) -> String {
    serde_json::to_value(kind).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// What the operations of a job leave in their slots, and what they expect there.
#[derive(Debug, Default)]
pub struct SlotUse {
    kept: Vec<(usize, Kept, String)>,
    used: Vec<(usize, OpKind, String)>,
}

impl SlotUse {
    /// An operation keeps its file in a slot.
    pub fn keep(&mut self, slot: usize, op: &Op) {
        if let Some(kept) = kept(op.op) {
            self.kept.push((slot, kept, op.name.clone()));
        }
    }

    /// An operation works on a slot.
    pub fn need(&mut self, slot: usize, op: &Op) {
        self.used.push((slot, op.op, op.name.clone()));
    }

    /// Whether every slot that is used holds, after each operation that fills it, what its users need.
    pub fn check(&self) -> Result<(), String> {
        for (slot, kind, name) in &self.used {
            let mut fillers = self.kept.iter().filter(|(filled, ..)| filled == slot).peekable();
            if fillers.peek().is_none() {
                return Err(format!(
                    "operation '{name}' works on slot {slot}, which no operation of this job fills; give an earlier \
                     one 'slot = {slot}' beside its set"
                ));
            }
            for (_, kept, filler) in fillers {
                if *kind == OpKind::Close && *kept != Kept::Handle {
                    return Err(format!(
                        "operation '{name}' closes slot {slot}, but '{filler}' leaves no handle there that is its to \
                         close; only create and open do"
                    ));
                }
                if works(*kind) == Works::OnHandle && *kept == Kept::Name {
                    return Err(format!(
                        "operation '{name}' needs an open file, but '{filler}' leaves only a name in slot {slot}; open \
                         it into the slot"
                    ));
                }
            }
        }
        Ok(())
    }
}
