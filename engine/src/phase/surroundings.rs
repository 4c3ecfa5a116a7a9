//! What a phase needs of the run around it.

use crate::control::{Inbox, Message, Stopper};
use crate::emit::Emitter;
use crate::files::fileset::FileSetState;
use crate::observe::HostObserver;
use crate::plan::Content;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// What a phase needs of the run around it.
pub struct Surroundings<'a> {
    /// Way out.
    pub emitter: &'a Emitter,
    /// Messages from outside and from workers.
    pub inbox: &'a Inbox,
    /// For the workers.
    pub sender: &'a Sender<Message>,
    /// A stop from outside.
    pub stopper: &'a Stopper,
    /// State of every file set.
    pub sets: &'a [Arc<FileSetState>],
    /// Content of every file set.
    pub contents: &'a [Content],
    /// The host's counters.
    pub host: &'a mut HostObserver,
    /// Seed of the run.
    pub seed: u64,
    /// Which part of the workers are this engine's, and of how many parts.
    pub part: (u32, u32),
    /// Length of an interval.
    pub sample_interval_ns: u64,
    /// Bytes that must stay free on every target.
    pub reserve_bytes: u64,
    /// Whether the kernel offers io_uring, and why not.
    pub io_uring: std::result::Result<(), String>,
    /// Whether block delay is counted.
    pub delay_accounting: bool,
}
