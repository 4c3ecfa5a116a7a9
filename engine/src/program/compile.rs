//! From a job of the Plan to its program, with everything checked that can be checked before a file is touched. What cannot
//! be carried out is refused here with its name.

use crate::backend::uri::Scheme;
use crate::draw::choice::Weights;
use crate::draw::ranks::Ranks;
use crate::draw::sizes::Sampler;
use crate::error::{EngineError, Result};
use crate::pace::coordination::Names;
use crate::pace::pacing;
use crate::plan::{
    Access, Action, Body, Coverage, Distribution, Ends, FileRef, FileSet, Job, Op, Phase, Pick, Region, ScriptGroup,
    Stop,
};
use crate::program::actions;
use crate::program::actions::Which;
use crate::program::backend_rules;
use crate::program::command::Command;
use crate::program::file_rules;
use crate::program::file_rules::SlotUse;
use crate::program::op::{CallMode, FileSource, Node, OpNode, OpenFor, OpenedSet, Program};
use crate::program::op_rules::{AdviceIn, SizeOf, Works};
use crate::program::script;
use crate::sys::advice::Advice;

/// Make a job ready.
pub fn compile(job: &Job, phase: &Phase, file_sets: &[FileSet]) -> Result<Program> {
    backend_rules::check_job(job)?;
    pacing::check(job)?;
    check_stop(&job.name, &job.stop)?;
    check_stop(&phase.name, &phase.stop)?;
    check_ends(job)?;
    check_longest_time(phase)?;
    let mut compiler = Compiler {
        job,
        phase,
        file_sets,
        names: Names::of(phase)?,
        counted: job.body.actions().filter_map(actions::counted_by).collect(),
        slots: SlotUse::default(),
        program: Program {
            nodes: Vec::new(),
            script: None,
            series: Vec::new(),
            laps: Vec::new(),
            operations: 0,
            finishes: 0,
            slots: 0,
            buffer_bytes: 1,
            most_vectors: 1,
            batch: job.batch,
            scratch_bytes: 0,
            opened: Vec::new(),
            sets: Vec::new(),
            store: Scheme::File,
        },
    };
    compiler.body()?;
    let program = compiler.program;
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
        Node::Op(op) => {
            let is_opened = matches!(op.file, FileSource::Opened { .. }) && !matches!(op.access, Access::Whole { .. });
            is_opened && op.kind.rules().request.is_some()
        }
        Node::Choice { branches, .. } => branches.iter().flatten().all(is_data_op),
        Node::Every { nodes, .. } => nodes.iter().all(is_data_op),
        Node::Group { .. } | Node::Repeat { .. } | Node::Action(_) => false,
    }
}

fn check_stop(owner: &str, stop: &Stop) -> Result<()> {
    match stop.seconds {
        Some(seconds) if !(seconds.is_finite() && seconds > 0.0) => {
            Err(EngineError::Plan(format!("'{owner}': stop.seconds is {seconds}; it must be above 0")))
        }
        _ => Ok(()),
    }
}

fn check_ends(job: &Job) -> Result<()> {
    if !(job.delay_s.is_finite() && job.delay_s >= 0.0) {
        let why = format!("job '{}': delay_s is {}; it must be 0 or more", job.name, job.delay_s);
        return Err(EngineError::Plan(why));
    }
    if job.ends == Ends::Team && job.team.is_empty() {
        let why = format!("job '{}': ends is 'team', and it is in none: give it and the others a team", job.name);
        return Err(EngineError::Plan(why));
    }
    Ok(())
}

fn check_longest_time(phase: &Phase) -> Result<()> {
    let Some(longest_s) = phase.extend_to_s else { return Ok(()) };
    match phase.stop.seconds {
        Some(seconds) if longest_s.is_finite() && longest_s > seconds => Ok(()),
        Some(seconds) => Err(EngineError::Plan(format!(
            "'{}': extend_to_s is {longest_s}; it must be above stop.seconds, {seconds}",
            phase.name
        ))),
        None => Err(EngineError::Plan(format!(
            "'{}': extend_to_s extends a phase's time, and this phase has none: give it stop.seconds",
            phase.name
        ))),
    }
}

struct Compiler<'a> {
    job: &'a Job,
    phase: &'a Phase,
    file_sets: &'a [FileSet],
    names: Names,
    /// What its actions count.
    counted: Vec<Which<'a>>,
    slots: SlotUse,
    program: Program,
}

/// Whether a loop does nothing but sleep, as that of an observer, whose phase lasts until it is asked to end.
fn only_sleeps(body: &Body) -> bool {
    match body {
        Body::Loop { actions } => matches!(
            actions.as_slice(),
            [Action::Think { seconds: Distribution::Fixed { value }, burn: false }] if *value > 0.0
        ),
        Body::Script { .. } => false,
    }
}

impl Compiler<'_> {
    fn body(&mut self) -> Result<()> {
        let job = self.job;
        self.program.nodes = match &job.body {
            Body::Loop { actions } => self.actions(actions, false)?,
            Body::Script { ops, groups, path } => {
                let mut nodes = ops.iter().map(|op| self.op(op, false).map(Node::Op)).collect::<Result<Vec<_>>>()?;
                for group in groups {
                    nodes.push(self.script_group(group)?);
                }
                let script = script::compile(job, path, &nodes, self.file_sets, &mut self.program.buffer_bytes)?;
                self.program.script = Some(script);
                nodes
            }
        };
        if self.program.operations == 0 && !only_sleeps(&job.body) {
            return Err(self.refuse("its loop has no operation; give it one"));
        }
        self.slots.check().map_err(|text| self.refuse(&text))
    }

    /// Operations that a line of a script does one after another.
    fn script_group(&mut self, group: &ScriptGroup) -> Result<Node> {
        let series = self.series(&group.name);
        // Their place is the line's. O_APPEND does what a flag on each write would.
        let anywhere = |op: &Op| Op { access: Access::Whole { chunk_bytes: 0, to_end: false }, ..op.clone() };
        let ops = group.ops.iter().map(|op| self.op(&anywhere(op), series.is_some())).collect::<Result<Vec<_>>>()?;
        let mut ops = script::group(self.job, group, ops, self.file_sets).map_err(|text| self.refuse(&text))?;
        let chunk_bytes = usize::try_from(group.chunk_bytes).unwrap_or(usize::MAX);
        let makes_first = script::join(&mut ops);
        let nodes = ops.into_iter().map(Node::Op).collect();
        Ok(Node::Group { series, counts: series.is_some(), laps: None, chunk_bytes, makes_first, nodes })
    }

    fn actions(&mut self, actions: &[Action], in_timed_group: bool) -> Result<Vec<Node>> {
        actions.iter().map(|action| self.action(action, in_timed_group)).collect()
    }

    fn action(&mut self, action: &Action, in_timed_group: bool) -> Result<Node> {
        Ok(match action {
            Action::Op { op } => Node::Op(self.op(op, in_timed_group)?),
            Action::Group { name, actions, laps } => {
                let series = self.series(name);
                let counts = series.is_some() && !in_timed_group;
                let laps = laps.then(|| position_of(name, &mut self.program.laps));
                let nodes = self.actions(actions, in_timed_group || series.is_some())?;
                Node::Group { series, counts, laps, chunk_bytes: 0, makes_first: None, nodes }
            }
            Action::Choice { branches } => {
                let weights: Vec<f64> = branches.iter().map(|branch| branch.weight).collect();
                let weights = Weights::new(&weights).filter(|_| branches.iter().all(|b| !b.actions.is_empty()));
                let weights = weights.ok_or_else(|| {
                    self.refuse("a choice needs weights of 0 or more, one above 0, and no empty branch")
                })?;
                let branches =
                    branches.iter().map(|b| self.actions(&b.actions, in_timed_group)).collect::<Result<_>>()?;
                Node::Choice { weights, branches }
            }
            Action::Repeat { times: 0, .. } => {
                return Err(self.refuse("a repeat of 0 times does nothing; give 1 or more"));
            }
            Action::Every { times: 0, .. } => {
                return Err(self.refuse("every 0 times is never; give 1 or more"));
            }
            Action::Every { times, actions } => {
                Node::Every { times: *times, nodes: self.actions(actions, in_timed_group)? }
            }
            Action::Repeat { times, actions } => {
                Node::Repeat { times: *times, nodes: self.actions(actions, in_timed_group)? }
            }
            Action::Wait { .. }
            | Action::Post { .. }
            | Action::Token { .. }
            | Action::Think { .. }
            | Action::FinishOn { .. } => {
                let finishes = &mut self.program.finishes;
                let node = actions::compile(action, &self.names, &self.job.body, finishes);
                Node::Action(node.map_err(|text| self.refuse(&text))?)
            }
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
        Some(position_of(name, &mut self.program.series))
    }

    fn op(&mut self, op: &Op, in_timed_group: bool) -> Result<OpNode> {
        let rw_flags = backend_rules::rw_flags(self.job, op, self.file_sets)?;
        self.program.most_vectors = self.program.most_vectors.max(op.flags.vectors);
        let file = self.file(op)?;
        let rules = op.op.rules();
        file_rules::check_advice(op).map_err(|text| self.refuse(&text))?;
        let size = match rules.size {
            SizeOf::Transfer | SizeOf::Attribute => Sampler::of_transfers(&op.size)?,
            SizeOf::Nothing | SizeOf::Length | SizeOf::LengthAboveZero => Sampler::new(&op.size)?,
        };
        let longest = match rules.size {
            SizeOf::Transfer | SizeOf::Attribute => self.transfer_bytes(op, &size)?,
            SizeOf::Nothing | SizeOf::Length | SizeOf::LengthAboveZero => 0,
        };
        file_rules::check_size(op, longest).map_err(|text| self.refuse(&text))?;
        if rules.moves_data() {
            self.program.buffer_bytes = self.program.buffer_bytes.max(longest as usize);
        }
        self.program.scratch_bytes = self.program.scratch_bytes.max(rules.scratch_bytes);
        let series = self.series(&op.name);
        self.program.operations += 1;
        Ok(OpNode {
            kind: op.op,
            name: op.name.clone(),
            series,
            counts: series.is_some() && !in_timed_group,
            is_timed: series.is_some() || in_timed_group,
            file,
            access: op.access.clone(),
            size,
            rw_flags,
            vectors: op.flags.vectors,
            chunk_bytes: usize::try_from(op.flags.chunk_bytes).unwrap_or(usize::MAX),
            rewinds: rules.reads() && matches!(op.access, Access::Sequential { wrap: true, .. }),
            keep: kept_in(op),
            open_for: OpenFor::Anything,
            mode: call_mode(op),
            cold_buffer: op.flags.cold_buffer,
            is_ready: !op.flags.cold_buffer && (rules.reads() || call_mode(op) == CallMode::KeepsBuffer),
            advice: Advice::named(&op.flags.advice),
            is_removable: matches!(&op.file, FileRef::Set { set, .. } if file_rules::removes_beside(self.phase, set)),
            command: Command::of(&self.job.name, op)?,
            ends_open: false,
            is_counted: self.counted.iter().any(|which| which.has(op)),
            state: self.program.operations - 1,
        })
    }

    /// Longest transfer of a data operation.
    fn transfer_bytes(&self, op: &Op, size: &Sampler) -> Result<u64> {
        let longest = match op.access {
            Access::Whole { chunk_bytes, .. } if chunk_bytes > 0 => chunk_bytes,
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
        match &op.file {
            FileRef::Slot { slot } => {
                if matches!(op.op.rules().works, Works::OnName | Works::OnDirectory) {
                    return Err(self.refuse(&format!("operation '{}' needs a file of a set, not a slot", op.name)));
                }
                if let (Body::Loop { .. }, Access::Random { region, distribution, coverage, .. }) =
                    (&self.job.body, &op.access)
                {
                    let is_even = Ranks::new(distribution, 0)?.is_uniform() && *coverage == Coverage::WithRepeats;
                    if !is_even || *region == (Region::Slice {}) {
                        return Err(self.refuse(&format!(
                            "operation '{}': random access in a slot draws evenly, with repeats, from the whole file or a \
                             range; work on the files of a set for anything else",
                            op.name
                        )));
                    }
                }
                let slot = *slot as usize;
                self.slots.need(slot, op);
                self.program.slots = self.program.slots.max(slot + 1);
                Ok(FileSource::Slot(slot))
            }
            FileRef::Set { set, pick, slot } => {
                let index = self.file_sets.iter().position(|candidate| candidate.name == *set);
                let set = index.ok_or_else(|| self.refuse(&format!("there is no file set '{set}'")))?;
                if !self.program.sets.contains(&set) {
                    self.program.sets.push(set);
                }
                file_rules::check_set(op, &self.file_sets[set], pick, slot.is_some())
                    .map_err(|text| self.refuse(&format!("operation '{}': {text}", op.name)))?;
                if let Some(slot) = kept_in(op) {
                    self.slots.keep(slot, op);
                    self.program.slots = self.program.slots.max(slot + 1);
                }
                match op.op.rules().works {
                    Works::OnHandle | Works::OnOwnHandle => self.opened(op, set, pick),
                    Works::OnEither | Works::OnPath | Works::OnName | Works::OnDirectory => {
                        self.check_pick(pick)?;
                        Ok(FileSource::Named { set, pick: pick.clone() })
                    }
                }
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
        if matches!(pick, Pick::New {} | Pick::Existing {} | Pick::InTurn {} | Pick::Listed {} | Pick::Shuffled {})
            || op.op.rules().works == Works::OnOwnHandle
        {
            return Err(self.refuse(&format!(
                "operation '{}' works on an open file: use pick 'own', 'next', 'random' or 'indexed', or open it into a slot first",
                op.name
            )));
        }
        let kept_and_written = || kept_in(op).is_some_and(|slot| writes_to_slot(&self.job.body, slot));
        let (write, own) = (op.op.rules().needs_writing || kept_and_written(), *pick == (Pick::Own {}));
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

/// Position of a name among those that have one, which it gets if it is new.
fn position_of(name: &str, names: &mut Vec<String>) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// Whether an operation of a job makes the file in a slot writable first.
fn writes_to_slot(body: &Body, slot: usize) -> bool {
    let is_in_slot = |op: &Op| matches!(op.file, FileRef::Slot { slot: named } if named as usize == slot);
    body.ops().any(|op| is_in_slot(op) && op.op.rules().needs_writing)
}

/// How the call of an operation is made.
fn call_mode(op: &Op) -> CallMode {
    let rules = op.op.rules();
    if rules.advice == AdviceIn::Wait && !op.flags.advice.is_empty() {
        CallMode::Waits
    } else if rules.writes() && op.flags.keeps_buffer {
        CallMode::KeepsBuffer
    } else {
        CallMode::Plain
    }
}

/// Slot that keeps the file that an operation picks from a set.
fn kept_in(op: &Op) -> Option<usize> {
    match &op.file {
        FileRef::Set { slot, .. } => slot.map(|slot| slot as usize),
        FileRef::Slot { .. } => None,
    }
}
