//! Operations that are programs: run on a file of the set, waited for, and ended when the phase is stopped.

use super::{Done, Worker};
use crate::backend::{Backend, Note, Report};
use crate::clock::Ticks;
use crate::concern::Concern;
use crate::error::{EngineError, Result};
use crate::events::StoppedBy;
use crate::observe::task::cpu_ns_of;
use crate::program::backend_rules;
use crate::program::op::{OpNode, Program};
use crate::spawn::{Ran, Spawner, exit_status};
use std::sync::atomic::Ordering::Relaxed;

/// What runs the programs of a job, if it has any.
pub(super) fn spawner_for(program: &Program) -> Result<Option<Box<Spawner>>> {
    if !backend_rules::ops(&program.nodes).iter().any(|op| op.command.is_some()) {
        return Ok(None);
    }
    let made = Spawner::new().map_err(|error| {
        EngineError::Environment(format!("programs cannot be run: {error}; see that /dev/null is there"))
    });
    made.map(|spawner| Some(Box::new(spawner)))
}

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// Run the operation's program on its file. What it moves is what the operation's size says.
    pub(super) fn spawn(&mut self, op: &OpNode) -> std::result::Result<Done, StoppedBy> {
        let (_, name) = self.handle_or_path(op)?;
        let bytes = self.length(op);
        if let Err(stop) = self.admit_transfer(bytes) {
            self.put_back(name);
            return Err(stop);
        }
        let command = op.command.as_ref().expect("every spawn has a command");
        let mut spawner = self.spawner.take().expect("a job with a spawn has a spawner");
        spawner.prepare(command, self.path.as_cstr());
        let mut ran = Ran { result: 0, cpu_ns: 0, was_stopped: false };
        let done = self.timed(|worker| {
            let mut cpu_ns = 0;
            ran = spawner.run(command.program(), |pid| worker.goes_on(pid, &mut cpu_ns));
            if ran.result < 0 { ran.result } else { bytes as i64 }
        });
        self.stats.children_cpu_ns.add(ran.cpu_ns);
        // A program that failed may have made its file nonetheless; the next one gets another name.
        self.hand_back(name, if exit_status(-ran.result as i32).is_some() { 0 } else { ran.result });
        if done.result < 0 && !ran.was_stopped {
            spawner.keep_words(&op.name);
        }
        self.spawner = Some(spawner);
        if ran.was_stopped {
            self.stats.started.add(1); // and given up
            return Err(StoppedBy::Control);
        }
        Ok(done)
    }

    /// Whether to wait on for a program, which is at work while its CPU time grows.
    fn goes_on(&self, pid: i32, cpu_ns: &mut u64) -> bool {
        let before = std::mem::replace(cpu_ns, cpu_ns_of(pid).unwrap_or(*cpu_ns));
        if *cpu_ns > before {
            self.stats.busy_since_ns.set(self.clock.now_ns());
        }
        !self.job.stop.load(Relaxed)
    }

    /// What the backend and the programs have to say at the end.
    pub(super) fn report(&mut self) -> Report {
        let mut report = self.backend.report();
        let said = self.spawner.iter().flat_map(|spawner| spawner.words());
        report.notes.extend(said.map(|(operation, words)| Note {
            concern: Concern::ProgramFailed,
            text: format!("the first program of {operation} that failed said: {words}"),
            operation: operation.to_string(),
        }));
        report
    }
}
