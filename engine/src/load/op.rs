//! A job of the Plan, made ready to run: names resolved, distributions prepared, everything checked that can be checked
//! before a file is touched.
//!
//! What the Plan can express and this engine does not carry out yet is refused here with its name.

use crate::error::{EngineError, Result};
use crate::load::backend_rules;
use crate::load::ranks::Ranks;
use crate::load::sizes::Sampler;
use crate::plan::{Access, Action, Arrival, Body, FileRef, FileSet, Job, Op, OpKind, Phase, Pick, Stop, WorkerKind};

/// A job that can run.
#[derive(Debug)]
pub struct Program {
    /// Actions of one pass.
    pub nodes: Vec<Node>,
    /// Keys of the histograms.
    pub series: Vec<String>,
    /// Operations in all: each has a state of its own in the worker.
    pub operations: usize,
    /// Handles that a worker keeps between operations.
    pub slots: usize,
    /// Longest transfer in bytes.
    pub buffer_bytes: usize,
    /// Most pieces of a vectored call.
    pub most_vectors: u32,
    /// File sets whose files are opened before the start, and whether to write.
    pub opened: Vec<OpenedSet>,
    /// File sets that the job touches at all, by index into the Plan.
    pub sets: Vec<usize>,
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
pub enum Node {
    /// An operation.
    Op(OpNode),
    /// Operations that are also recorded together.
    Group {
        /// Histogram, if timed.
        series: Option<usize>,
        /// Whether the group counts as one of the worker's operations.
        counts: bool,
        /// Members.
        nodes: Vec<Node>,
    },
    /// One of several branches.
    Choice {
        /// Upper end of each branch's share of [0, 1).
        cumulative: Vec<f64>,
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
    /// Index of its state in the worker.
    pub state: usize,
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
        /// Slot that keeps it.
        slot: Option<usize>,
    },
    /// What an earlier operation left.
    Slot(usize),
}

/// Make a job ready.
pub fn compile(job: &Job, phase: &Phase, file_sets: &[FileSet]) -> Result<Program> {
    refuse_what_is_not_there_yet(job)?;
    backend_rules::check_job(job)?;
    check_stop(&job.name, &job.stop)?;
    check_stop(&phase.name, &phase.stop)?;
    let Body::Loop { actions } = &job.body else {
        return Err(not_yet(job, "a script"));
    };
    if actions.is_empty() {
        return Err(EngineError::Plan(format!("job '{}': the loop has no actions", job.name)));
    }
    let mut compiler = Compiler {
        job,
        file_sets,
        program: Program {
            nodes: Vec::new(),
            series: Vec::new(),
            operations: 0,
            slots: 0,
            buffer_bytes: 1,
            most_vectors: 1,
            opened: Vec::new(),
            sets: Vec::new(),
        },
    };
    let nodes = compiler.actions(actions, false)?;
    let mut program = compiler.program;
    program.nodes = nodes;
    backend_rules::check_program(job, &program)?;
    for name in &job.timed {
        if !program.series.contains(name) {
            return Err(EngineError::Plan(format!("job '{}': timed names '{name}', which no action has", job.name)));
        }
    }
    if job.queue_depth > 1 && !program.nodes.iter().all(is_data_op) {
        return Err(EngineError::Plan(format!(
            "job '{}': queue_depth {} needs a loop of reads, writes and flushes on the files of a set; use workers for \
             everything else",
            job.name, job.queue_depth
        )));
    }
    Ok(program)
}

/// Whether several of these can be in flight at once.
fn is_data_op(node: &Node) -> bool {
    match node {
        Node::Op(op) => matches!(op.file, FileSource::Opened { .. }) && !matches!(op.access, Access::Whole { .. }),
        Node::Choice { branches, .. } => {
            branches.iter().all(|nodes| matches!(&nodes[..], [node @ Node::Op(_)] if is_data_op(node)))
        }
        Node::Group { .. } | Node::Repeat { .. } => false,
    }
}

fn not_yet(job: &Job, what: &str) -> EngineError {
    EngineError::Plan(format!("job '{}': this engine does not carry out {what} yet", job.name))
}

fn refuse_what_is_not_there_yet(job: &Job) -> Result<()> {
    let refused = match job {
        Job { kind: WorkerKind::Process, .. } => Some("workers as processes"),
        Job { arrival: Arrival::Open { .. }, .. } => Some("open-loop arrival"),
        Job { limit, .. } if limit.ops_per_s.is_some() || limit.bytes_per_s.is_some() => Some("rate limits"),
        Job { affinity, .. } if !affinity.cpus.is_empty() || affinity.numa_node.is_some() => Some("affinity"),
        _ => None,
    };
    if let Some(what) = refused {
        return Err(not_yet(job, what));
    }
    Ok(())
}

fn check_stop(owner: &str, stop: &Stop) -> Result<()> {
    match stop.seconds {
        Some(seconds) if !(seconds.is_finite() && seconds > 0.0) => {
            Err(EngineError::Plan(format!("'{owner}': stop.seconds is {seconds}; it must be above 0")))
        }
        _ => Ok(()),
    }
}

struct Compiler<'a> {
    job: &'a Job,
    file_sets: &'a [FileSet],
    program: Program,
}

impl Compiler<'_> {
    fn actions(&mut self, actions: &[Action], in_timed_group: bool) -> Result<Vec<Node>> {
        actions.iter().map(|action| self.action(action, in_timed_group)).collect()
    }

    fn action(&mut self, action: &Action, in_timed_group: bool) -> Result<Node> {
        Ok(match action {
            Action::Op { op } => Node::Op(self.op(op, in_timed_group)?),
            Action::Group { name, actions } => {
                let series = self.series(name);
                let counts = series.is_some() && !in_timed_group;
                Node::Group { series, counts, nodes: self.actions(actions, in_timed_group || series.is_some())? }
            }
            Action::Choice { branches } => {
                let total: f64 = branches.iter().map(|branch| branch.weight).sum();
                if !(total.is_finite() && total > 0.0)
                    || branches.iter().any(|b| b.weight < 0.0 || b.actions.is_empty())
                {
                    return Err(self.refuse("a choice needs weights of 0 or more, one above 0, and no empty branch"));
                }
                let cumulative = branches
                    .iter()
                    .scan(0.0, |sum, branch| {
                        *sum += branch.weight / total;
                        Some(*sum)
                    })
                    .collect();
                let branches =
                    branches.iter().map(|b| self.actions(&b.actions, in_timed_group)).collect::<Result<_>>()?;
                Node::Choice { cumulative, branches }
            }
            Action::Repeat { times, actions } => {
                Node::Repeat { times: *times, nodes: self.actions(actions, in_timed_group)? }
            }
            Action::Wait { .. } | Action::Post { .. } => return Err(not_yet(self.job, "semaphores")),
            Action::Token { .. } => return Err(not_yet(self.job, "rate tokens")),
            Action::Think { .. } => return Err(not_yet(self.job, "think time")),
            Action::FinishOn { .. } => return Err(not_yet(self.job, "finish_on")),
        })
    }

    fn refuse(&self, text: &str) -> EngineError {
        EngineError::Plan(format!("job '{}': {text}", self.job.name))
    }

    /// Histogram of a name, if the job times it.
    fn series(&mut self, name: &str) -> Option<usize> {
        if !self.job.timed.is_empty() && !self.job.timed.iter().any(|timed| timed == name) {
            return None;
        }
        let known = self.program.series.iter().position(|series| series == name);
        Some(known.unwrap_or_else(|| {
            self.program.series.push(name.to_owned());
            self.program.series.len() - 1
        }))
    }

    fn op(&mut self, op: &Op, in_timed_group: bool) -> Result<OpNode> {
        if !is_carried_out(op.op) {
            return Err(not_yet(self.job, &format!("the operation {:?}", op.op).to_lowercase()));
        }
        let rw_flags = backend_rules::rw_flags(self.job, op, self.file_sets)?;
        self.program.most_vectors = self.program.most_vectors.max(op.flags.vectors);
        let file = self.file(op)?;
        let is_data = matches!(op.op, OpKind::Read | OpKind::Write);
        let size = if is_data { Sampler::of_transfers(&op.size)? } else { Sampler::new(&op.size)? };
        if is_data {
            let bytes = self.transfer_bytes(op, &size)?;
            self.program.buffer_bytes = self.program.buffer_bytes.max(bytes as usize);
        }
        let series = self.series(&op.name);
        self.program.operations += 1;
        Ok(OpNode {
            kind: op.op,
            name: op.name.clone(),
            series,
            counts: series.is_some() && !in_timed_group,
            file,
            access: op.access.clone(),
            size,
            rw_flags,
            vectors: op.flags.vectors,
            state: self.program.operations - 1,
        })
    }

    /// Longest transfer of a data operation.
    fn transfer_bytes(&self, op: &Op, size: &Sampler) -> Result<u64> {
        let longest = match op.access {
            Access::Whole { chunk_bytes } if chunk_bytes > 0 => chunk_bytes,
            _ => size.longest(),
        };
        if !(1..=1 << 30).contains(&longest) {
            return Err(self.refuse(&format!(
                "operation '{}': its size of {longest} bytes must be between 1 byte and 1 GiB",
                op.name
            )));
        }
        Ok(longest)
    }

    fn file(&mut self, op: &Op) -> Result<FileSource> {
        let on_open_file = matches!(
            op.op,
            OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync | OpKind::Fstat | OpKind::Close
        );
        match &op.file {
            FileRef::Slot { slot } => {
                if !on_open_file {
                    return Err(self.refuse(&format!("operation '{}' needs a file of a set, not a slot", op.name)));
                }
                self.program.slots = self.program.slots.max(*slot as usize + 1);
                Ok(FileSource::Slot(*slot as usize))
            }
            FileRef::Set { set, pick, slot } => {
                let index = self.file_sets.iter().position(|candidate| candidate.name == *set);
                let set = index.ok_or_else(|| self.refuse(&format!("there is no file set '{set}'")))?;
                if !self.program.sets.contains(&set) {
                    self.program.sets.push(set);
                }
                if on_open_file {
                    return self.opened(op, set, pick);
                }
                let slot = slot.map(|slot| slot as usize);
                self.program.slots = self.program.slots.max(slot.map_or(0, |slot| slot + 1));
                if (op.op == OpKind::Create) != (*pick == Pick::New {}) {
                    return Err(self.refuse(&format!("operation '{}': pick 'new' and create go together", op.name)));
                }
                if op.op == OpKind::Unlink && *pick != (Pick::Existing {}) {
                    return Err(self.refuse(&format!("operation '{}': unlink takes pick 'existing'", op.name)));
                }
                self.check_pick(pick)?;
                Ok(FileSource::Named { set, pick: pick.clone(), slot })
            }
        }
    }

    fn check_pick(&self, pick: &Pick) -> Result<()> {
        match pick {
            Pick::Indexed { value } => Sampler::new(value).map(drop),
            Pick::Random { distribution } => Ranks::new(distribution, 0).map(drop),
            _ => Ok(()),
        }
    }

    fn opened(&mut self, op: &Op, set: usize, pick: &Pick) -> Result<FileSource> {
        self.check_pick(pick)?;
        if matches!(pick, Pick::New {} | Pick::Existing {}) || op.op == OpKind::Close {
            return Err(self.refuse(&format!(
                "operation '{}' works on an open file: use pick 'own', 'next', 'random' or 'indexed', or open it into a slot first",
                op.name
            )));
        }
        let (write, own) = (op.op == OpKind::Write, *pick == (Pick::Own {}));
        let opened = &mut self.program.opened;
        let position = opened.iter().position(|known| known.set == set).unwrap_or_else(|| {
            opened.push(OpenedSet { set, write, own });
            opened.len() - 1
        });
        let known = &mut opened[position];
        if known.own != own {
            return Err(self.refuse("one set is used with pick 'own' and with another pick; use two jobs"));
        }
        known.write |= write;
        Ok(FileSource::Opened { opened: position, pick: pick.clone() })
    }
}

fn is_carried_out(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Read
            | OpKind::Write
            | OpKind::Fsync
            | OpKind::Fdatasync
            | OpKind::Create
            | OpKind::Open
            | OpKind::Close
            | OpKind::Stat
            | OpKind::Fstat
            | OpKind::Unlink
    )
}
