//! What a worker carries operations out with: its backend, the files that it has of it, and what fills its buffers.

use super::files::Files;
use super::filler::Filler;
use crate::backend::Backend;
use crate::draw::offsets::Walker;
use crate::error::{EngineError, Result};
use crate::files::open_files::OpenFile;
use crate::job::{JobShared, Transfers};
use crate::program::op::Program;
use crate::spawn::Spawner;
use std::sync::Arc;

/// The parts that an operation works on.
pub(super) struct Tools<B: Backend> {
    pub(super) backend: B,
    pub(super) files: Files,
    pub(super) filler: Filler,
    /// Directory entries and extended attributes.
    pub(super) scratch: Vec<u8>,
    /// Runs programs, if any operation does.
    pub(super) spawner: Option<Box<Spawner>>,
}

impl<B: Backend> Tools<B> {
    pub(super) fn new(
        mut backend: B,
        job: Arc<JobShared>,
        opened: Vec<Vec<OpenFile>>,
        transfers: Transfers,
        walker: Walker,
    ) -> Result<Self> {
        let mut scratch = vec![0; job.program.scratch_bytes];
        fastrand::Rng::with_seed(walker.seed).fill(&mut scratch);
        let slots = transfers.slots;
        let mut filler = Filler::new(&job, transfers, u64::from(walker.worker) << 40);
        filler.begin_kept(&job.program, slots, &mut backend);
        let spawner = spawner_for(&job.program)?;
        Ok(Self { backend, files: Files::new(job, opened, walker)?, filler, scratch, spawner })
    }
}

/// What runs the programs of a job, if it has any.
fn spawner_for(program: &Program) -> Result<Option<Box<Spawner>>> {
    if !program.ops().any(|op| op.command.is_some()) {
        return Ok(None);
    }
    let made = Spawner::new().map_err(|error| {
        EngineError::Environment(format!("programs cannot be run: {error}; see that /dev/null is there"))
    });
    made.map(|spawner| Some(Box::new(spawner)))
}

impl<B: Backend> Drop for Tools<B> {
    /// The files stay open until the worker is released: what a file system does at their close is in no phase's time.
    fn drop(&mut self) {
        self.files.close_slots(&mut self.backend);
        self.files.close_opened(&mut self.backend);
    }
}
