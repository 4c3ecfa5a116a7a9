//! Files that grow while they are measured, held short of the reserve.
//!
//! Appends and writes to new files have no end of their own: a run of a given time writes as much as the storage takes. So
//! the free space is looked at several times a second in a phase whose files grow, and the phase ends when less than the
//! reserve is left. Between two looks the load can go past it by what it writes in that time.

use crate::error::{EngineError, Result};
use crate::files::root::Root;
use crate::sys::posix;
use crate::units::bytes_text;
use std::os::fd::AsFd;
use std::sync::Arc;

/// The data folders whose files grow.
#[derive(Debug, Default)]
pub struct Growth {
    folders: Vec<Arc<Root>>,
    reserve_bytes: u64,
}

impl Growth {
    /// Look after some data folders.
    pub fn new(folders: Vec<Arc<Root>>, reserve_bytes: u64) -> Self {
        Self { folders, reserve_bytes }
    }

    /// Whether no files grow.
    pub fn is_none(&self) -> bool {
        self.folders.is_empty()
    }

    /// Whether the reserve is still free everywhere.
    ///
    /// # Errors
    ///
    /// An environment error with both numbers and what to do.
    pub fn check(&self) -> Result<()> {
        for folder in &self.folders {
            let numbers = posix::file_system_of(folder.as_fd())
                .map_err(|error| EngineError::io("look at", folder.path(), error))?;
            let free = numbers.f_bavail.saturating_mul(numbers.f_frsize);
            if free < self.reserve_bytes {
                return Err(EngineError::Environment(format!(
                    "writing was ended: {} are free on the file system of {}, less than the reserve of {}. Give the \
                     job a stop in bytes, or choose a shorter time",
                    bytes_text(free),
                    folder.path().display(),
                    bytes_text(self.reserve_bytes)
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_ends_at_the_reserve() {
        let folder = tempfile::tempdir().unwrap();
        let watch = |reserve_bytes| Growth::new(vec![Root::of(folder.path())], reserve_bytes);

        assert!(watch(0).check().is_ok());
        let error = watch(u64::MAX).check().unwrap_err();
        assert!(error.to_string().contains("less than the reserve"), "{error}");
    }
}
