//! What a worker is to do, step by step: a loop's program again and again, or the lines of a script.
//!
//! A program is a tree. It is laid out flat before the start, so that the next step is the next in a row, but for choices,
//! repeats and groups that are broken off.

use super::meter::Group;
use crate::draw::choice::Weights;
use crate::program::actions::ActionNode;
use crate::program::lines::{Entry, Lines};
use crate::program::op::{Node, OpNode, Program};

/// One thing that a worker does next.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    /// Hear a stop within a group: it is long.
    Look,
    /// An operation by itself, and whether a pass is through with it ([`Source::join_pass`]).
    Op(&'a OpNode, bool),
    /// An operation of a group, or of a script's line.
    Member(&'a OpNode),
    /// What follows up to its end counts together: [`Source::begin_group`].
    Begin(usize),
    /// The innermost group has ended, and whether a pass is through with it.
    End(bool),
    /// Something that is no operation.
    Action(&'a ActionNode),
    /// A line of a script is next: [`Source::line`].
    Line,
    /// There is no more.
    Exhausted,
    /// A pass is through, and [`Source::again`] begins another.
    Pass,
}

/// A line of a script.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) entry: Entry,
    /// Longest piece of its transfers; 0: each goes in one call.
    pub(super) chunk_bytes: usize,
    /// File set of the write whose content is made before its first operation.
    pub(super) makes_first: Option<usize>,
    /// Whether it counts as one of the worker's operations.
    pub(super) counts: bool,
}

/// A step, or where the next one is.
enum Code<'a> {
    Step(Step<'a>),
    /// One of these branches.
    Choose(&'a Weights, Vec<usize>),
    Jump(usize),
    /// What follows is done N times: which of the repeats it is, N.
    Times(usize, u64),
    /// Again, if it is not through.
    Again(usize, usize),
    /// What follows is done every N-th time, else what is at a place: which of these it is, N, the place.
    Every(usize, u64, usize),
    /// The end of the group, if one of its members has failed.
    Unless(usize),
}

/// The steps of one worker.
pub(super) struct Source<'a> {
    code: Vec<Code<'a>>,
    at: usize,
    /// Where an operation leads that fails at a place, as a member of a group: to the end of that.
    breaks: Vec<(usize, usize)>,
    /// Where a pass begins.
    start: usize,
    groups: Vec<Group>,
    /// By repeat: how often it is still to be done. By what is done every N-th time: how often it was passed by since.
    left: Vec<u64>,
    /// Groups that have begun.
    depth: usize,
    /// Of these, how many have failed: the outermost.
    failed: usize,
    script: Option<Script<'a>>,
}

/// Where in a script a worker is.
struct Script<'a> {
    lines: &'a Lines,
    line: Line,
    row: usize,
    worker: usize,
    workers: usize,
    /// Whether it is done again when it is through.
    repeats: bool,
    /// By operation or group of the script: where its steps begin, and what its lines have in common.
    starts: Vec<(usize, Line)>,
}

impl<'a> Source<'a> {
    /// The steps of worker `worker` of `workers`. A script is done once, or `repeats`.
    pub(super) fn new(program: &'a Program, worker: u32, workers: u32, repeats: bool) -> Self {
        let mut source = Self {
            code: Vec::new(),
            at: 0,
            breaks: Vec::new(),
            start: 0,
            groups: Vec::new(),
            left: Vec::new(),
            depth: 0,
            failed: 0,
            script: None,
        };
        let Some(lines) = &program.script else {
            program.nodes.iter().for_each(|node| source.lay_out(node, false));
            source.code.push(Code::Step(Step::Pass));
            return source;
        };
        let entry = Entry { due_ns: 0, offset: 0, size: 0, file: 0, op: 0 };
        // The last step of each leads to the next line, which is behind all.
        let mut starts = Vec::new();
        for node in &program.nodes {
            let (chunk_bytes, makes_first, counts) = match node {
                Node::Group { chunk_bytes, makes_first, counts, .. } => (*chunk_bytes, *makes_first, *counts),
                Node::Op(op) => (0, None, op.counts),
                _ => unreachable!("the lines of a script are operations and groups of them"),
            };
            starts.push((source.code.len(), Line { entry, chunk_bytes, makes_first, counts }));
            source.lay_out(node, true);
            source.code.push(Code::Jump(usize::MAX));
        }
        (source.at, source.start) = (usize::MAX, usize::MAX);
        let (worker, workers) = (worker as usize, workers as usize);
        let line = Line { entry, chunk_bytes: 0, makes_first: None, counts: false };
        source.script = Some(Script { lines, line, row: worker, worker, workers, repeats, starts });
        source
    }

    fn lay_out(&mut self, node: &'a Node, in_group: bool) {
        match node {
            Node::Op(op) if in_group => self.code.push(Code::Step(Step::Member(op))),
            Node::Op(op) => self.code.push(Code::Step(Step::Op(op, false))),
            Node::Action(action) => self.code.push(Code::Step(Step::Action(action))),
            Node::Group { series, counts, laps, nodes, .. } => {
                let number = |position: Option<usize>| position.map(|position| position as u32);
                self.groups.push(Group { series: number(*series), laps: number(*laps), counts: *counts });
                self.code.push(Code::Step(Step::Begin(self.groups.len() - 1)));
                let (mut checks, mut members) = (Vec::new(), Vec::new());
                for node in nodes {
                    if matches!(node, Node::Op(_)) {
                        members.push(self.code.len());
                    }
                    self.lay_out(node, true);
                    // What has members of its own goes on with them.
                    if !matches!(node, Node::Op(_) | Node::Action(_)) {
                        checks.push(self.code.len());
                        self.code.push(Code::Unless(0));
                    }
                }
                let end = self.code.len();
                checks.into_iter().for_each(|at| self.code[at] = Code::Unless(end));
                self.breaks.extend(members.into_iter().map(|at| (at, end)));
                self.code.push(Code::Step(Step::End(false)));
            }
            Node::Choice { weights, branches } => {
                let choice = self.code.len();
                self.code.push(Code::Jump(0));
                let (mut begins, mut ends) = (Vec::new(), Vec::new());
                for branch in branches {
                    begins.push(self.code.len());
                    branch.iter().for_each(|node| self.lay_out(node, in_group));
                    ends.push(self.code.len());
                    self.code.push(Code::Jump(0));
                }
                let behind = self.code.len();
                ends.into_iter().for_each(|at| self.code[at] = Code::Jump(behind));
                self.code[choice] = Code::Choose(weights, begins);
            }
            Node::Every { times, nodes } => {
                let counter = self.left.len();
                self.left.push(0);
                let every = self.code.len();
                self.code.push(Code::Jump(0));
                nodes.iter().for_each(|node| self.lay_out(node, in_group));
                // A step of its own, so that the last member is not taken for the last of a pass.
                let behind = self.code.len() + 1;
                self.code.push(Code::Jump(behind));
                self.code[every] = Code::Every(counter, *times, behind);
            }
            Node::Repeat { times, nodes } => {
                let repeat = self.left.len();
                self.left.push(0);
                self.code.push(Code::Times(repeat, *times));
                let begin = self.code.len();
                if in_group {
                    self.code.push(Code::Step(Step::Look));
                }
                nodes.iter().for_each(|node| self.lay_out(node, in_group));
                self.code.push(Code::Again(repeat, begin));
            }
        }
    }

    /// The next step.
    #[inline(always)]
    pub(super) fn next(&mut self, rng: &mut fastrand::Rng) -> Step<'a> {
        match self.code.get(self.at) {
            Some(Code::Step(step)) => {
                self.at += 1;
                *step
            }
            _ => self.find(rng),
        }
    }

    /// The next step, where it is not the next in the row.
    #[inline(never)]
    fn find(&mut self, rng: &mut fastrand::Rng) -> Step<'a> {
        loop {
            let Some(code) = self.code.get(self.at) else { return self.next_line() };
            self.at = match code {
                Code::Step(step) => {
                    self.at += 1;
                    return *step;
                }
                Code::Choose(weights, begins) => begins[weights.draw(rng)],
                Code::Jump(to) => *to,
                Code::Times(repeat, times) => {
                    self.left[*repeat] = *times;
                    self.at + 1
                }
                Code::Again(repeat, begin) => {
                    self.left[*repeat] -= 1;
                    if self.left[*repeat] > 0 { *begin } else { self.at + 1 }
                }
                Code::Every(counter, times, behind) => {
                    self.left[*counter] += 1;
                    if self.left[*counter] < *times {
                        *behind
                    } else {
                        self.left[*counter] = 0;
                        self.at + 1
                    }
                }
                Code::Unless(end) => {
                    if self.failed == self.depth {
                        *end
                    } else {
                        self.at + 1
                    }
                }
            };
        }
    }

    /// The worker's next line, whose steps are next then.
    fn next_line(&mut self) -> Step<'a> {
        let script = self.script.as_mut().expect("a script has lines");
        if script.row < script.lines.len() {
            let entry = script.lines.get(script.row);
            script.row += script.workers;
            let (start, line) = script.starts[entry.op as usize];
            self.at = start;
            script.line = Line { entry, ..line };
            return Step::Line;
        }
        // A pass is counted, and then there is another or not.
        if script.row == usize::MAX {
            if !script.repeats || script.lines.len() <= script.worker {
                return Step::Exhausted;
            }
            script.row = script.worker;
            return self.next_line();
        }
        script.row = usize::MAX;
        Step::Pass
    }

    /// Another pass begins.
    #[inline(always)]
    pub(super) fn again(&mut self) {
        self.at = self.start;
    }

    /// Mark the last operation or group of a pass as its end, where one is the last: one step less.
    pub(super) fn join_pass(mut self) -> Self {
        if let [.., Code::Step(Step::Op(_, is_last) | Step::End(is_last)), Code::Step(Step::Pass)] = &mut self.code[..]
        {
            *is_last = true;
            self.code.pop();
        }
        self
    }

    /// The only operation of a loop, if it has but one.
    pub(super) fn only_op(&self) -> Option<&'a OpNode> {
        match self.code[..] {
            [Code::Step(Step::Op(op, _)), Code::Step(Step::Pass)] => Some(op),
            _ => None,
        }
    }

    /// An operation has failed: the group around it is broken off.
    #[cold]
    pub(super) fn break_off(&mut self) {
        self.failed = self.depth;
        if let Some(&(_, end)) = self.breaks.iter().find(|(at, _)| at + 1 == self.at) {
            self.at = end;
        }
    }

    /// A group, and whether there is none around it.
    pub(super) fn begin_group(&mut self, group: usize) -> (Group, bool) {
        self.depth += 1;
        (self.groups[group], self.depth == 1)
    }

    /// The line of a script that is next.
    pub(super) fn line(&self) -> Line {
        self.script.as_ref().expect("a script has lines").line
    }

    /// A group has ended; if it has failed, the one around it has too.
    pub(super) fn end_group(&mut self) {
        self.depth -= 1;
        self.failed = self.failed.min(self.depth);
    }
}
