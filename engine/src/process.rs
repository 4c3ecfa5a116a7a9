//! Workers as processes: forked from the engine, heard through a pipe, gone with it.
//!
//! A child is a fork of the main thread and runs one worker. What it counts lies in shared memory ([`crate::shared`]); what
//! it reports (ready, failed, done, lost) goes through a pipe of its own, one line of JSON each. One thread attends to
//! all the pipes. A pipe that ends without "done" means that the process is dead: the attendant looks how, without
//! reaping it, so that the sampler can still read its clocks. Children are reaped by the main thread, after the last
//! sample. The kernel kills them when the engine dies (PR_SET_PDEATHSIG).

use crate::control::Message;
use crate::error::{EngineError, Result};
use crate::events::ErrorClass;
use crate::job::Ended;
use crate::sys::{posix, process};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

/// Where a worker's messages go.
pub enum Reporter {
    /// To the main thread of the same process.
    Thread(Sender<Message>),
    /// Through a pipe.
    Process(File),
}

impl Reporter {
    /// Who says it.
    pub fn speaker(&self) -> String {
        match self {
            Self::Thread(_) => "thread".to_owned(),
            Self::Process(_) => format!("process {}", std::process::id()),
        }
    }

    /// Send it. Nobody listens any more when the phase is given up; then there is nobody to report to.
    pub fn send(&mut self, message: Message) {
        match self {
            Self::Thread(sender) => _ = sender.send(message),
            Self::Process(pipe) => {
                if let Some(line) = Line::from_message(message) {
                    let mut text = serde_json::to_vec(&line).expect("lines hold nothing that JSON cannot");
                    text.push(b'\n');
                    let _ = pipe.write_all(&text);
                }
            }
        }
    }
}

/// What a child says.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Ready { tid: i32 },
    Failed { class: ErrorClass, text: String, io: Option<(String, PathBuf, i32)> },
    Done(Ended),
    Lost { how: String },
}

impl Line {
    fn from_message(message: Message) -> Option<Self> {
        match message {
            Message::Ready { tid, .. } => Some(Self::Ready { tid }),
            Message::Done { ended, .. } => Some(Self::Done(ended)),
            Message::Failed(error) => {
                let io = match &error {
                    EngineError::Io { op, path, source } => {
                        source.raw_os_error().map(|errno| (op.clone().into_owned(), path.clone(), errno))
                    }
                    _ => None,
                };
                Some(Self::Failed { class: error.class(), text: error.to_string(), io })
            }
            Message::Lost { how, .. } => Some(Self::Lost { how }),
            Message::Plan(_) | Message::Control(_) | Message::Unreadable(_) => None,
        }
    }

    fn into_message(self, worker: usize) -> Message {
        match self {
            Self::Ready { tid } => Message::Ready { worker, tid },
            Self::Done(ended) => Message::Done { worker, ended },
            Self::Lost { how } => Message::Lost { worker, how },
            Self::Failed { io: Some((op, path, errno)), .. } => {
                Message::Failed(EngineError::io(op, path, io::Error::from_raw_os_error(errno)))
            }
            Self::Failed { class: ErrorClass::Plan, text, .. } => Message::Failed(EngineError::Plan(text)),
            Self::Failed { text, .. } => Message::Failed(EngineError::Environment(text)),
        }
    }
}

/// The processes of one phase.
#[derive(Default)]
pub struct Processes {
    pids: Vec<i32>,
    pipes: Vec<Pipe>,
    attendant: Option<JoinHandle<()>>,
}

/// The engine's end of one child's pipe.
struct Pipe {
    worker: usize,
    pid: i32,
    from_child: File,
    text: Vec<u8>,
    is_done: bool,
}

impl Processes {
    /// Fork a worker that runs `live`. Called on the main thread, before the phase has threads of its own.
    ///
    /// # Errors
    ///
    /// No more processes or descriptors.
    pub fn fork(&mut self, worker: usize, live: impl FnOnce(Reporter)) -> Result<()> {
        let (from_child, to_engine) = posix::pipe().map_err(|error| no_process(worker, &error))?;
        let engine = std::process::id();
        // SAFETY: the child runs `run_child`, which never returns into this function; locks that other threads may hold at this
        // moment (the reader of standard input) are not taken there, and the allocator's are safe across fork in glibc.
        match unsafe { libc::fork() } {
            -1 => Err(no_process(worker, &io::Error::last_os_error())),
            0 => {
                drop(from_child);
                run_child(engine, || live(Reporter::Process(to_engine)))
            }
            pid => {
                self.pids.push(pid);
                self.pipes.push(Pipe { worker, pid, from_child, text: Vec::new(), is_done: false });
                Ok(())
            }
        }
    }

    /// Pass on what the children report, until the last has gone.
    ///
    /// # Errors
    ///
    /// No thread to do it.
    pub fn attend(&mut self, messages: &Sender<Message>) -> io::Result<()> {
        let pipes = std::mem::take(&mut self.pipes);
        if !pipes.is_empty() {
            let messages = messages.clone();
            self.attendant = Some(std::thread::Builder::new().spawn(move || attend(pipes, &messages))?);
        }
        Ok(())
    }

    /// Process numbers of all that have not been reaped.
    pub fn pids(&self) -> &[i32] {
        &self.pids
    }

    /// Wait until all have gone: they have been asked to.
    pub fn reap(mut self) {
        self.wait_for_all();
    }

    fn wait_for_all(&mut self) {
        for pid in self.pids.drain(..) {
            process::reap(pid);
        }
        if let Some(attendant) = self.attendant.take() {
            let _ = attendant.join();
        }
    }
}

impl Drop for Processes {
    /// Given up before they were asked to go.
    fn drop(&mut self) {
        for &pid in &self.pids {
            process::kill(pid);
        }
        self.wait_for_all();
    }
}

fn no_process(worker: usize, error: &io::Error) -> EngineError {
    EngineError::Environment(format!(
        "no process could be made for worker {worker}: {error}; use fewer workers, or threads"
    ))
}

/// The life of a child; no destructor or exit handler of the engine's runs in it.
fn run_child(engine: u32, live: impl FnOnce()) -> ! {
    let ended_well = process::die_with(engine) && std::panic::catch_unwind(std::panic::AssertUnwindSafe(live)).is_ok();
    process::leave(if ended_well { 0 } else { 101 })
}

fn attend(mut pipes: Vec<Pipe>, messages: &Sender<Message>) {
    while !pipes.is_empty() {
        let mut waiting: Vec<libc::pollfd> = pipes
            .iter()
            .map(|pipe| libc::pollfd { fd: pipe.from_child.as_raw_fd(), events: libc::POLLIN, revents: 0 })
            .collect();
        posix::poll(&mut waiting, -1);
        let mut spoke = waiting.iter().map(|entry| entry.revents != 0);
        pipes.retain_mut(|pipe| !spoke.next().unwrap_or(false) || pipe.pass_on(messages));
    }
}

impl Pipe {
    /// Pass on what there is to read; whether more can come.
    fn pass_on(&mut self, messages: &Sender<Message>) -> bool {
        let mut piece = [0; 4096];
        match self.from_child.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return true,
            Ok(0) | Err(_) => {
                if !self.is_done {
                    let _ = messages.send(Message::Lost { worker: self.worker, how: how_it_died(self.pid) });
                }
                return false;
            }
            Ok(count) => self.text.extend_from_slice(&piece[..count]),
        }
        while let Some(end) = self.text.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.text.drain(..=end).collect();
            let Ok(line) = serde_json::from_slice::<Line>(&line) else { continue };
            self.is_done |= matches!(line, Line::Done(_) | Line::Failed { .. } | Line::Lost { .. });
            let _ = messages.send(line.into_message(self.worker));
        }
        true
    }
}

/// How a process ended, leaving it to be reaped.
fn how_it_died(pid: i32) -> String {
    let (code, status) = process::how_ended(pid);
    let end = match code {
        libc::CLD_EXITED => format!("ended with code {status}"),
        libc::CLD_KILLED | libc::CLD_DUMPED => format!("was ended by signal {status}{}", signal_name(status)),
        _ => "ended".to_owned(),
    };
    format!("process {pid} {end}")
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGKILL => " (SIGKILL; the kernel sends it when memory runs out)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGBUS => " (SIGBUS; a mapped file was cut or its storage failed)",
        _ => "",
    }
}
