//! Operations that are programs: run on a file of the set, waited for, and ended when the phase is stopped.

use super::meter::Done;
use super::parts::Worker;
use crate::backend::{Backend, Note, Report};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::observe::task::cpu_ns_of;
use crate::program::op::OpNode;
use crate::sys::exit_status::exit_status;
use crate::warning_id::WarningId;
use std::sync::atomic::Ordering::Relaxed;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// Run the operation's program on its file. What it moves is what the operation's size says. One that a stop ends is given
    /// up.
    #[inline(never)]
    pub(super) fn spawn(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (_, name) = self.handle_or_path(op)?;
        let bytes = self.length(op);
        if let Err(stop) = self.admission.admit_bytes(bytes) {
            self.put_back(name);
            return Err(stop);
        }
        let command = op.command.as_ref().expect("every spawn has a command");
        let spawner = self.tools.spawner.as_mut().expect("a job with a spawn has a spawner");
        spawner.prepare(command, self.tools.files.path.as_cstr());
        let issued_ns = self.admission.meter.begin(op, false);
        let mut cpu_ns = 0;
        let ran = spawner.run(command.program(), |pid| {
            // It is at work while its CPU time grows.
            let now_ns = cpu_ns_of(pid).unwrap_or(cpu_ns);
            if std::mem::replace(&mut cpu_ns, now_ns) < now_ns {
                self.admission.meter.is_alive();
            }
            !self.admission.stop().load(Relaxed)
        });
        let done = self.admission.meter.ended(issued_ns, if ran.result < 0 { ran.result } else { bytes as i64 });
        if done.result < 0 && !ran.was_stopped {
            spawner.keep_words(&op.name);
        }
        self.admission.meter.child_ended(ran.cpu_ns);
        self.admission.meter.time_went_by();
        // A program that failed may have made its file nonetheless; the next one gets another name.
        self.release(name, if exit_status(-ran.result as i32).is_some() { 0 } else { ran.result });
        if ran.was_stopped { Err(StoppedBy::Control) } else { Ok(done) }
    }

    /// Why a worker gave up, with its program's output where it is the name of one.
    pub(super) fn in_its_words(&self, why: &str) -> String {
        let words = self.tools.spawner.as_ref().and_then(|spawner| spawner.words_of(why));
        words.map_or_else(|| why.to_owned(), |words| format!("{why} ({words})"))
    }

    /// What the backend and the programs report at the end.
    pub(super) fn report(&mut self) -> Report {
        let mut report = self.tools.backend.report();
        let outputs = self.tools.spawner.iter().flat_map(|spawner| spawner.words());
        report.notes.extend(outputs.map(|(operation, words)| Note {
            warning: WarningId::ProgramFailed,
            text: format!("the first program of {operation} that failed printed: {words}"),
            operation: operation.to_string(),
        }));
        report
    }
}
