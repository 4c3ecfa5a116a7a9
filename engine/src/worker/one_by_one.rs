//! The op loop of a worker that does one operation at a time: which step comes next, and whether there is one.

use super::{Done, Flow, Sum, Worker};
use crate::backend::Backend;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::plan::OpKind;
use crate::program::op::{Node, OpNode};
use std::sync::atomic::Ordering::Relaxed;

impl<B: Backend, T: Ticks> Worker<B, T> {
    pub(super) fn run_loop(&mut self, nodes: &[Node]) -> Flow {
        if let [Node::Op(op)] = nodes
            && self.goes_in_rows(op)
        {
            return self.run_rows(op);
        }
        loop {
            for node in nodes {
                self.check()?;
                // Most loops are one operation: it has no way to go.
                if let Node::Op(op) = node {
                    self.op(op)?;
                } else {
                    self.node(node)?;
                }
            }
            self.limits.pass(&self.job.limits)?;
        }
    }

    /// Whether to go on, from the time of the latest completion.
    #[inline]
    pub(super) fn check(&self) -> Flow {
        if self.job.stop.load(Relaxed) {
            return Err(StoppedBy::Control);
        }
        self.limits.check_time(self.last_ns)
    }

    fn node(&mut self, node: &Node) -> Result<Sum, StoppedBy> {
        match node {
            Node::Op(op) => self.op_within(op),
            Node::Group { series, counts, laps, nodes, .. } => {
                let sum = self.group(*series, *counts, nodes)?;
                laps.iter().for_each(|&group| self.keep_lap(group, sum));
                Ok(sum)
            }
            Node::Choice { weights, branches } => {
                let branch = weights.draw(&mut self.rng);
                self.all(&branches[branch], true)
            }
            Node::Repeat { times, nodes } => self.repeat(*times, nodes),
            Node::Action(action) => self.action(action).map(|()| Sum::default()),
        }
    }

    fn repeat(&mut self, times: u64, nodes: &[Node]) -> Result<Sum, StoppedBy> {
        let mut sum = Sum::default();
        match nodes {
            // One operation, or one group of them, again and again: most classic benchmarks.
            [Node::Op(op)] if self.goes_in_rows(op) => return self.repeat_in_rows(op, times),
            [Node::Op(op)] => {
                for _ in 0..times {
                    self.check()?;
                    sum.add(self.op(op)?);
                }
            }
            [Node::Group { series, counts, laps: None, nodes, .. }] if self.group_goes_in_rows(*counts, nodes) => {
                return self.repeat_group_in_rows(*series, nodes, times);
            }
            [Node::Group { series, counts, laps: None, nodes, .. }] => {
                for _ in 0..times {
                    self.check()?;
                    sum.add(self.group(*series, *counts, nodes)?);
                }
            }
            _ => {
                for _ in 0..times {
                    self.check()?;
                    sum.add(self.all(nodes, true)?);
                }
            }
        }
        Ok(sum)
    }

    fn all(&mut self, nodes: &[Node], go_on_after_failure: bool) -> Result<Sum, StoppedBy> {
        let mut sum = Sum::default();
        for node in nodes {
            sum.add(if let Node::Op(op) = node { self.op_within(op)? } else { self.node(node)? });
            if sum.failed && !go_on_after_failure {
                break;
            }
        }
        Ok(sum)
    }

    #[inline(always)]
    pub(super) fn group(&mut self, series: Option<usize>, counts: bool, nodes: &[Node]) -> Result<Sum, StoppedBy> {
        if counts {
            self.limits.admit(&self.job.limits)?;
            self.arrive()?;
        }
        let sum = self.all(nodes, false)?;
        self.record(series, counts, sum);
        Ok(sum)
    }

    /// An operation inside something else.
    #[inline(never)]
    pub(super) fn op_within(&mut self, op: &OpNode) -> Result<Sum, StoppedBy> {
        self.op(op)
    }

    #[inline(always)]
    fn op(&mut self, op: &OpNode) -> Result<Sum, StoppedBy> {
        if op.counts {
            self.limits.admit(&self.job.limits)?;
            self.arrive()?;
        }
        self.stats.current.set(op.state as u64);
        let done = match op.kind {
            OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync => self.data(op)?,
            OpKind::Stat => self.stat(op)?,
            _ => self.other_op(op)?,
        };
        self.account(op, done)
    }

    /// An operation that transfers nothing through the backend.
    pub(super) fn other_op(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        match op.kind {
            OpKind::Create | OpKind::Open => self.open(op),
            OpKind::Close => self.close(op),
            OpKind::Fstat => self.fstat(op),
            OpKind::Stat => self.stat(op),
            OpKind::Truncate | OpKind::Chmod | OpKind::Setxattr | OpKind::Getxattr => self.on_either(op),
            OpKind::SyncFileRange | OpKind::Fallocate | OpKind::Advise => self.on_handle(op),
            OpKind::Lock | OpKind::LockShared | OpKind::Unlock => self.lock(op),
            OpKind::Unlink => self.unlink(op),
            OpKind::Rename | OpKind::Link | OpKind::Symlink | OpKind::Clone | OpKind::Copy => self.two_names(op),
            OpKind::Mkdir | OpKind::Rmdir => self.directory(op),
            OpKind::Spawn => self.spawn(op),
            OpKind::Readdir | OpKind::ReaddirStat => self.list(op),
            OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync => self.data(op),
        }
    }
}
