//! Operations on names: the calls that take a path, or two.

use super::meter::Done;
use super::parts::Worker;
use crate::backend::Backend;
use crate::backend::store::{At, Handle};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::program::op::OpNode;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// `creates`: flags of open(2) for a new file, or 0.
    #[inline(never)]
    pub(super) fn open(&mut self, op: &OpNode, creates: i32) -> Result<Done, StoppedBy> {
        let name = self.named(op)?;
        let job = &self.admission.job;
        let flags = (job.open_flags & !libc::O_ACCMODE) | op.open_for.flags() | creates;
        let (advice, is_kept) = (job.advice, op.keep.is_some());
        let (files, backend) = (&mut self.tools.files, &mut self.tools.backend);
        files.empty_slot_of(op, backend);
        let path = files.from();
        let issued_ns = self.admission.meter.begin(op, false);
        let opened = if is_kept { backend.open_file(path, flags) } else { backend.open(path, flags) };
        let result = match opened {
            Ok(file) if !is_kept => {
                job.closings.count(backend.close(file));
                0
            }
            Ok(_) => 0,
            Err(failed) => failed,
        };
        let done = self.admission.meter.ended_open(issued_ns, result, op.ends_open & self.joins);
        self.release(name, result);
        if !is_kept {
            return Ok(done);
        }
        // A slot whose open failed holds a handle that no call takes: what comes next on it fails and is counted.
        let handle = opened.unwrap_or(Handle::NONE);
        if let (Some(advice), Ok(file)) = (advice, opened) {
            // A file system without advice leaves the file as it is, which is what advice is.
            self.tools.backend.advise(file, advice, 0, 0);
            self.admission.meter.time_went_by();
        }
        self.tools.files.keep_open(op, name, handle);
        Ok(done)
    }

    #[inline(never)]
    pub(super) fn call_on_name(&mut self, op: &OpNode, call: fn(&mut B, At<'_>) -> i64) -> Result<Done, StoppedBy> {
        let name = self.named(op)?;
        let tools = &mut self.tools;
        let done = self.admission.meter.timed(op, || call(&mut tools.backend, tools.files.from()));
        self.release(name, done.result);
        Ok(done)
    }

    /// An operation from one name to another.
    #[inline(never)]
    pub(super) fn two_names(
        &mut self,
        op: &OpNode,
        call: fn(&mut B, At<'_>, At<'_>) -> i64,
    ) -> Result<Done, StoppedBy> {
        let both = self.both_named(op)?;
        let tools = &mut self.tools;
        let done = self.admission.meter.timed(op, || call(&mut tools.backend, tools.files.from(), tools.files.to()));
        self.release_both(op, both, done.result);
        Ok(done)
    }

    /// What a symbolic link holds is no path from here, but from where it lies.
    #[inline(never)]
    pub(super) fn symlink(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let both = self.both_named(op)?;
        let tools = &mut self.tools;
        let call = || tools.backend.symlink(tools.files.path.as_cstr(), tools.files.to());
        let done = self.admission.meter.timed(op, call);
        self.release_both(op, both, done.result);
        Ok(done)
    }

    /// One that a stop cuts short is given up.
    #[inline(never)]
    pub(super) fn copy(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (from, to) = self.both_named(op)?;
        let bytes = self.tools.files.job.sets[from.set].size_of(from.index);
        if let Err(why) = self.admission.admit_bytes(bytes) {
            [from, to].into_iter().for_each(|name| self.put_back(name));
            return Err(why);
        }
        let (files, backend) = (&self.tools.files, &mut self.tools.backend);
        let done =
            self.admission.meter.timed(op, || backend.copy(files.from(), files.to(), &files.job.stop_flags.stop));
        self.release_both(op, (from, to), done.result);
        if done.result == -i64::from(libc::ECANCELED) { Err(StoppedBy::Control) } else { Ok(done) }
    }

    #[inline(never)]
    pub(super) fn list(&mut self, op: &OpNode, with_attributes: bool) -> Result<Done, StoppedBy> {
        let (tools, meter) = (&mut self.tools, &mut self.admission.meter);
        tools.files.directory(op, self.line, &mut self.rng);
        let path = tools.files.from();
        let issued_ns = meter.begin(op, false);
        let result = tools.backend.readdir(path, &mut tools.scratch, with_attributes, || meter.is_alive());
        Ok(meter.ended(issued_ns, result))
    }
}
