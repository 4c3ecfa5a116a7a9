//! A job of the Plan, made ready to run by [`compile`](super::compile::compile): names resolved, distributions prepared.

use crate::backend::uri::Scheme;
use crate::draw::choice::Weights;
use crate::draw::sizes::Sampler;
use crate::plan::{Access, Batch, OpKind, Pick};
use crate::program::actions::ActionNode;
use crate::program::command::Command;
use crate::program::lines::Lines;
use crate::sys::advice::Advice;

/// A job that can run.
#[derive(Debug)]
pub struct Program {
    /// Actions of one pass; of a script, the operations that its lines refer to.
    pub nodes: Vec<Node>,
    /// The list of operations, if the job has one instead of a loop.
    pub script: Option<Lines>,
    /// Keys of the histograms.
    pub series: Vec<String>,
    /// Names of the groups with laps.
    pub laps: Vec<String>,
    /// Operations in all: each has a state of its own in the worker.
    pub operations: usize,
    /// Actions that count what all workers of the job do together.
    pub finishes: usize,
    /// Handles that a worker keeps between operations.
    pub slots: usize,
    /// Longest transfer in bytes.
    pub buffer_bytes: usize,
    /// Most pieces of a vectored call.
    pub most_vectors: u32,
    /// How requests of a queue are handed over and taken back.
    pub batch: Batch,
    /// Memory for lists of directory entries and for extended attributes.
    pub scratch_bytes: usize,
    /// File sets whose files are opened before the start, and whether to write.
    pub opened: Vec<OpenedSet>,
    /// File sets that the job touches at all, by index into the Plan.
    pub sets: Vec<usize>,
    /// What they lie in.
    pub store: Scheme,
}

impl Program {
    /// All its operations, in the order of their states.
    pub fn ops(&self) -> impl Iterator<Item = &OpNode> {
        Ops { open: vec![self.nodes.iter()] }
    }

    /// Name of the operation with a state; empty: there is none.
    pub fn name_of(&self, state: usize) -> &str {
        self.ops().nth(state).map_or("", |op| &op.name)
    }
}

/// A walk over nodes, each before those inside it.
struct Ops<'a> {
    /// Lists that are not through, the innermost last.
    open: Vec<std::slice::Iter<'a, Node>>,
}

impl<'a> Iterator for Ops<'a> {
    type Item = &'a OpNode;

    fn next(&mut self) -> Option<&'a OpNode> {
        loop {
            match self.open.last_mut()?.next() {
                None => drop(self.open.pop()),
                Some(Node::Op(op)) => return Some(op),
                Some(Node::Group { nodes, .. } | Node::Repeat { nodes, .. } | Node::Every { nodes, .. }) => {
                    self.open.push(nodes.iter());
                }
                Some(Node::Choice { branches, .. }) => {
                    self.open.extend(branches.iter().rev().map(|nodes| nodes.iter()))
                }
                Some(Node::Action(_)) => {}
            }
        }
    }
}

/// A set whose files a job holds open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenedSet {
    /// Index into the Plan's file sets.
    pub set: usize,
    /// Whether any operation writes to it.
    pub write: bool,
    /// Whether each worker needs only its own file.
    pub own: bool,
}

/// One step of the op loop.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a program has few nodes, and a box is one more step in the op loop")]
pub enum Node {
    /// An operation.
    Op(OpNode),
    /// Operations that are also recorded together.
    Group {
        /// Histogram, if timed.
        series: Option<usize>,
        /// Whether the group counts as one of the worker's operations.
        counts: bool,
        /// Position in [`Program::laps`], if each completion is reported by itself.
        laps: Option<usize>,
        /// Longest piece of its transfers, in a script; 0: each goes in one call.
        chunk_bytes: usize,
        /// File set of the write, in a script, whose content is made before the first member.
        makes_first: Option<usize>,
        /// Members.
        nodes: Vec<Node>,
    },
    /// One of several branches.
    Choice {
        /// How likely each is.
        weights: Weights,
        /// Branches.
        branches: Vec<Vec<Node>>,
    },
    /// A number of times.
    Repeat {
        /// How often.
        times: u64,
        /// Members.
        nodes: Vec<Node>,
    },
    /// Every N-th time.
    Every {
        /// Times that a worker comes here for each time that it does this.
        times: u64,
        /// Members.
        nodes: Vec<Node>,
    },
    /// Something that is no operation.
    Action(ActionNode),
}

/// An operation that can run.
#[derive(Debug)]
pub struct OpNode {
    /// What it does.
    pub kind: OpKind,
    /// Name in messages.
    pub name: String,
    /// Histogram, if timed.
    pub series: Option<usize>,
    /// Whether it counts as one of the worker's operations (not when a timed group around it does).
    pub counts: bool,
    /// Whether it is timed, by itself or in a group: the worker's first and last operation are among these.
    pub is_timed: bool,
    /// Which file.
    pub file: FileSource,
    /// Where in the file.
    pub access: Access,
    /// How many bytes.
    pub size: Sampler,
    /// RWF_ flags.
    pub rw_flags: i32,
    /// Pieces of a vectored call; 0 or 1: plain.
    pub vectors: u32,
    /// Longest piece in which a transfer moves; 0: in one call.
    pub chunk_bytes: usize,
    /// Whether a read in a slot that meets the end starts over.
    pub rewinds: bool,
    /// Slot that keeps the file that it picked.
    pub keep: Option<usize>,
    /// What `create` and `open` open it for.
    pub open_for: OpenFor,
    /// How a call is made that has two ways.
    pub mode: CallMode,
    /// Whether its buffer is out of the processor's caches when it begins.
    pub cold_buffer: bool,
    /// Whether it moves data, and nothing is done to its buffer before the call but what takes no time to speak of.
    pub is_ready: bool,
    /// What `advise` says.
    pub advice: Option<Advice>,
    /// Whether another worker may come to remove the file whose name this works on.
    pub is_removable: bool,
    /// What `spawn` runs.
    pub command: Option<Command>,
    /// Whether nobody looks at the clock at its end: the next member of its group begins there, and neither is recorded
    /// alone.
    pub ends_open: bool,
    /// Whether an action of the job counts its completions.
    pub is_counted: bool,
    /// Index of its state in the worker.
    pub state: usize,
}

/// How a call is made that has two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallMode {
    /// As usual.
    Plain,
    /// A `sync_file_range` waits.
    Waits,
    /// A write gives what the buffer holds.
    KeepsBuffer,
    /// A write gives what was made before the start.
    Pooled,
}

impl OpNode {
    /// Whether each of its transfers is one call.
    #[inline]
    pub fn goes_at_once(&self) -> bool {
        self.chunk_bytes == 0 && !matches!(self.access, Access::Whole { .. })
    }
}

/// What later operations do with a file that is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenFor {
    /// Read it, write it, or what is not known.
    Anything,
    /// Read it.
    Reading,
    /// Write it.
    Writing,
    /// Write at its end.
    Appending,
    /// Read it, and write at its end.
    ReadingAndAppending,
}

impl OpenFor {
    /// Flags of open(2).
    #[inline]
    pub fn flags(self) -> i32 {
        match self {
            Self::Anything => libc::O_RDWR,
            Self::Reading => libc::O_RDONLY,
            Self::Writing => libc::O_WRONLY,
            Self::Appending => libc::O_WRONLY | libc::O_APPEND,
            Self::ReadingAndAppending => libc::O_RDWR | libc::O_APPEND,
        }
    }
}

/// Where an operation's file comes from.
#[derive(Debug, Clone)]
pub enum FileSource {
    /// One of the files that the worker opened before the start.
    Opened {
        /// Position in [`Program::opened`].
        opened: usize,
        /// How.
        pick: Pick,
    },
    /// A name of a set.
    Named {
        /// Index into the Plan's file sets.
        set: usize,
        /// How.
        pick: Pick,
    },
    /// What an earlier operation left.
    Slot(usize),
}
