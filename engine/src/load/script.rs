//! A script: an explicit list of operations, read before the start into a compact array.
//!
//! The file has one JSON array a line: `[op, file index, offset, size, due_ns]`. `op` is the position of the operation
//! in the Plan's list; the file index is that of its set (its slot, where the operation works on one, wins). `due_ns`
//! above 0 is when the operation is to begin, from the common start: an open loop, whose response time counts from
//! then. Two-name operations (rename, link, symlink, clone, copy) go to the file index that `offset` holds. A script names
//! its files itself, so it leaves the set's count of existing files as it is.

use crate::error::{EngineError, Result};
use crate::load::file_rules::{Works, takes_new, works};
use crate::load::op::{FileSource, Node, OpNode};
use crate::plan::{FileSet, Job, OpKind};
use std::fs::File;
use std::io::{BufRead, BufReader};

/// One operation of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When it is due, from the start; 0: when the one before is done.
    pub due_ns: u64,
    /// Where in the file, or the file index that a two-name operation goes to.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// File index in its set.
    pub file: u32,
    /// Position of its operation.
    pub op: u32,
}

/// The list of a job. Worker `w` of `n` does entries `w`, `w + n`, and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// All of it.
    pub entries: Vec<Entry>,
}

impl Script {
    /// Whether any line says when it is due.
    pub fn has_schedule(&self) -> bool {
        self.entries.iter().any(|entry| entry.due_ns > 0)
    }
}

const LONGEST_TRANSFER_BYTES: u64 = 1 << 30;

/// Read a script and check every line against the operations that it refers to. `buffer_bytes` grows to its longest
/// transfer.
///
/// # Errors
///
/// A Plan error with the number of the first line that cannot be carried out; an I/O error for a file that cannot be
/// read.
pub fn compile(job: &Job, path: &str, ops: &[Node], sets: &[FileSet], buffer_bytes: &mut usize) -> Result<Script> {
    let refuse = |text: String| EngineError::Plan(format!("job '{}': script {path}: {text}", job.name));
    if job.workers > 1 && ops.iter().any(|node| matches!(node, Node::Op(op) if uses_slots(op))) {
        let cure = "its lines are dealt out to the workers one by one, so a slot would miss its file; use 1 worker";
        return Err(refuse(format!("{} workers share operations with slots; {cure}", job.workers)));
    }
    if job.queue_depth > 1 {
        return Err(refuse(format!("queue_depth is {}; a worker does one line at a time: use 1", job.queue_depth)));
    }
    let file = File::open(path).map_err(|error| EngineError::io("open", path, error))?;
    let mut entries = Vec::new();
    for (number, line) in (1_u64..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(|error| EngineError::io("read", path, error))?;
        if line.trim().is_empty() {
            continue;
        }
        let entry = entry(&line, ops, sets).map_err(|text| refuse(format!("line {number}: {text}")))?;
        if let Some(Node::Op(OpNode { kind: OpKind::Read | OpKind::Write, .. })) = ops.get(entry.op as usize) {
            *buffer_bytes = (*buffer_bytes).max(entry.size as usize);
        }
        entries.push(entry);
    }
    if entries.is_empty() {
        return Err(refuse("it holds no operation; write lines of [op, file index, offset, size, due_ns]".to_owned()));
    }
    Ok(Script { entries })
}

fn uses_slots(op: &OpNode) -> bool {
    op.keep.is_some() || matches!(op.file, FileSource::Slot(_))
}

/// One line, checked.
fn entry(line: &str, ops: &[Node], sets: &[FileSet]) -> std::result::Result<Entry, String> {
    let (op, file, offset, size, due_ns) = serde_json::from_str::<(u32, u32, u64, u64, u64)>(line)
        .map_err(|error| format!("{error}; a line is [op, file index, offset, size, due_ns], whole numbers from 0"))?;
    let Some(Node::Op(node)) = ops.get(op as usize) else {
        return Err(format!("operation {op} does not exist; the job has {}", ops.len()));
    };
    let moves = matches!(node.kind, OpKind::Read | OpKind::Write);
    if moves && !(1..=LONGEST_TRANSFER_BYTES).contains(&size) {
        return Err(format!("size is {size}; a transfer has between 1 byte and 1 GiB"));
    }
    if i64::try_from(offset).is_err() || i64::try_from(size).is_err() {
        return Err(format!("offset {offset} or size {size} is beyond what a file can have (2^63 - 1)"));
    }
    let set = match node.file {
        FileSource::Named { set, .. } => &sets[set],
        // What the worker opened before the start is looked up when it runs.
        FileSource::Opened { .. } | FileSource::Slot(_) => return Ok(Entry { due_ns, offset, size, file, op }),
    };
    let two_names = takes_new(node.kind) && !matches!(node.kind, OpKind::Create | OpKind::Mkdir);
    let beyond = |index: u64| works(node.kind) != Works::OnDirectory && index >= set.files;
    if beyond(u64::from(file)) || (two_names && beyond(offset)) {
        let (name, files) = (&set.name, set.files);
        return Err(format!("file index {file} or {offset} is beyond file set '{name}', which has {files} files"));
    }
    Ok(Entry { due_ns, offset, size, file, op })
}
