//! Ends a phase whose files grow into the reserve.
//!
//! It is a thread of its own: the main thread waits where nobody reads its events, and the load writes on.

use super::jobs::ReadyJob;
use crate::error::{EngineError, Result};
use crate::job::JobShared;
use crate::places::local_dir::growth::Growth;
use crate::stalls::LOOK_NS;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread, as long as there is one; it ends with this.
pub(super) struct Guard {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Option<EngineError>>>,
}

impl Guard {
    /// Look after files that grow. Where none do, there is no thread.
    ///
    /// # Errors
    ///
    /// No thread could be made.
    pub fn begin(growth: Growth, jobs: &[ReadyJob]) -> Result<Self> {
        let is_over = Arc::<AtomicBool>::default();
        if growth.is_none() {
            return Ok(Self { is_over, thread: None });
        }
        let jobs: Vec<_> = jobs.iter().map(|job| Arc::clone(&job.shared)).collect();
        let over = Arc::clone(&is_over);
        let thread = std::thread::Builder::new().spawn(move || watch(&growth, &jobs, &over));
        thread.map(|thread| Self { is_over, thread: Some(thread) }).map_err(|error| {
            let cure = "use fewer workers, or raise the limit (ulimit -u)";
            EngineError::Environment(format!("no thread could be made to watch the free space: {error}; {cure}"))
        })
    }

    /// Stop looking; why the phase was ended, if it was.
    pub fn end(mut self) -> Option<EngineError> {
        let thread = self.thread.take()?;
        self.is_over.store(true, Relaxed);
        thread.thread().unpark();
        thread.join().ok().flatten()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

fn watch(growth: &Growth, jobs: &[Arc<JobShared>], is_over: &AtomicBool) -> Option<EngineError> {
    loop {
        std::thread::park_timeout(Duration::from_nanos(LOOK_NS));
        if is_over.load(Relaxed) {
            return None;
        }
        if let Err(error) = growth.check() {
            jobs.iter().for_each(|job| job.stop());
            return Some(error);
        }
    }
}
