//! Storage of known behaviour, in memory: what every loop counts is tested on it, to the nanosecond where the clock is one
//! that moves only when it is asked to. No Plan reaches it.
//!
//! Names and sizes are kept, data is not: reads give zeroes. [`NullModel`] sets the time that a transfer, or a call on
//! a name, takes. Each is carried out when it begins, and is done when its time has passed.

use super::store::{At, Handle, Lock, Store};
use super::{Backend, Completion, QueuedBackend, Request, RequestKind, Wait, listing, piece_by_piece};
use crate::buffer::{BufferSize, Buffers};
use crate::clock::Ticks;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

/// What the storage is like.
#[derive(Debug, Clone)]
pub(crate) struct NullModel {
    /// What a request takes; the next one in turn. Flushes take it too.
    pub(crate) request_ns: Vec<u64>,
    /// What a call on a name or a handle takes.
    pub(crate) call_ns: u64,
    /// How many requests it works on at a time.
    pub(crate) width: usize,
    /// Nothing begins in this time.
    pub(crate) stall: Range<u64>,
    /// Every N-th request fails: N, and the error number.
    pub(crate) failing: Option<(usize, i32)>,
    /// Every N-th request, if it is a transfer, moves half of what was asked for.
    pub(crate) short: Option<usize>,
    /// After this many requests, nothing can be waited for any more.
    pub(crate) breaks_after: Option<usize>,
    /// What the worker takes to make or judge a KiB of what is in a buffer.
    pub(crate) work_ns_per_kib: u64,
}

impl Default for NullModel {
    fn default() -> Self {
        Self {
            request_ns: vec![0],
            call_ns: 0,
            width: usize::MAX,
            stall: 0..0,
            failing: None,
            short: None,
            breaks_after: None,
            work_ns_per_kib: 0,
        }
    }
}

/// The storage, and what it has in hand.
pub(crate) struct Null<T> {
    clock: T,
    model: NullModel,
    buffers: Buffers,
    /// By path: what it leads to.
    names: BTreeMap<CString, Node>,
    /// By number of the file: its length.
    sizes: Vec<u64>,
    open: Vec<Option<Open>>,
    /// Submitted, and not begun.
    queued: Vec<(usize, Request)>,
    /// Begun: when each is done.
    in_hand: Vec<(u64, Completion)>,
    carried_out: Rc<RefCell<Vec<Carried>>>,
    /// The buffer that was worked on last, and up to where.
    worked: (usize, usize),
    /// What happens when this many requests have come.
    then: Option<(usize, Box<dyn Fn()>)>,
}

/// What the storage knows of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carried {
    /// When it came, and when it was done.
    pub(crate) came_ns: u64,
    pub(crate) done_ns: u64,
    pub(crate) asked_bytes: usize,
    /// Bytes moved or a negative error number.
    pub(crate) result: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    File(usize),
    Directory,
}

#[derive(Debug, Clone)]
enum Open {
    File(usize),
    /// What of a listing is still to come.
    Directory(Vec<CString>),
}

const fn failed(errno: i32) -> i64 {
    -(errno as i64)
}

fn flat(result: Result<i64, i64>) -> i64 {
    result.unwrap_or_else(|failed| failed)
}

impl<T: Ticks> Null<T> {
    /// Storage without files, with buffers of a size for `depth` requests.
    pub(crate) fn new(clock: T, model: NullModel, depth: u32, size: BufferSize) -> io::Result<Self> {
        let buffers = Buffers::new(depth as usize, size)?;
        let (names, sizes, open) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (queued, in_hand, carried_out) = (Vec::new(), Vec::new(), Rc::default());
        Ok(Self { clock, model, buffers, names, sizes, open, queued, in_hand, carried_out, worked: (0, 0), then: None })
    }

    /// A file that is there from the beginning.
    pub(crate) fn lay_out(&mut self, path: At<'_>, bytes: u64) {
        self.add(path.path.to_owned(), bytes);
    }

    fn add(&mut self, path: CString, bytes: u64) -> usize {
        self.sizes.push(bytes);
        self.names.insert(path, Node::File(self.sizes.len() - 1));
        self.sizes.len() - 1
    }

    /// Call `then` when this many requests have come, while the last of them is carried out.
    pub(crate) fn when(&mut self, requests: usize, then: impl Fn() + 'static) {
        self.then = Some((requests, Box::new(then)));
    }

    /// All that it carries out, in the order in which it comes, also when the storage is gone.
    pub(crate) fn record(&self) -> Rc<RefCell<Vec<Carried>>> {
        Rc::clone(&self.carried_out)
    }

    /// A call that begins now has been carried out.
    fn call(&self, result: i64) -> i64 {
        self.clock.nap_until(self.clock.now_ns() + self.model.call_ns);
        result
    }

    fn file_at(&self, path: At<'_>) -> Result<usize, i64> {
        match self.names.get(path.path) {
            Some(Node::File(file)) => Ok(*file),
            Some(Node::Directory) => Err(failed(libc::EISDIR)),
            None => Err(failed(libc::ENOENT)),
        }
    }

    fn file_of(&self, handle: Handle) -> Result<usize, i64> {
        match self.open.get(handle.0 as usize) {
            Some(Some(Open::File(file))) => Ok(*file),
            _ => Err(failed(libc::EBADF)),
        }
    }

    fn entry(&mut self, open: Open) -> Handle {
        let free = self.open.iter().position(Option::is_none).unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.open[free] = Some(open);
        Handle(free as i32)
    }

    fn opened(&mut self, path: At<'_>, flags: i32) -> Result<Open, i64> {
        match (self.names.get(path.path), flags & libc::O_CREAT != 0) {
            (Some(_), true) if flags & libc::O_EXCL != 0 => Err(failed(libc::EEXIST)),
            (Some(Node::File(file)), _) if flags & libc::O_DIRECTORY == 0 => Ok(Open::File(*file)),
            (None, true) => Ok(Open::File(self.add(path.path.to_owned(), 0))),
            (Some(Node::File(_)), _) => Err(failed(libc::ENOTDIR)),
            // Files of a set lie in directories that nobody made here.
            (_, false) if flags & libc::O_DIRECTORY != 0 => Ok(Open::Directory(self.names_in(path))),
            (Some(Node::Directory), _) => Err(failed(libc::EISDIR)),
            (None, false) => Err(failed(libc::ENOENT)),
        }
    }

    fn names_in(&self, directory: At<'_>) -> Vec<CString> {
        let below = |path: &CString| {
            let rest = path.to_bytes().strip_prefix(directory.path.to_bytes())?.strip_prefix(b"/")?;
            (!rest.contains(&b'/')).then(|| CString::new(rest).expect("a part of a path without NUL"))
        };
        self.names.keys().filter_map(below).collect()
    }

    fn named(&mut self, path: At<'_>, node: Node) -> i64 {
        match self.names.contains_key(path.path) {
            true => failed(libc::EEXIST),
            false => {
                self.names.insert(path.path.to_owned(), node);
                0
            }
        }
    }

    /// What comes of a request.
    fn result_of(&mut self, number: usize, request: Request) -> i64 {
        let is_last_of = |count: usize| number % count == count - 1;
        if let Some((_, errno)) = self.model.failing.filter(|&(count, _)| is_last_of(count)) {
            return failed(errno);
        }
        let length = request.length as u64 / if self.model.short.is_some_and(is_last_of) { 2 } else { 1 };
        let end = request.offset + length;
        let result = self.file_of(request.file).map(|file| match request.kind {
            RequestKind::Read => self.sizes[file].saturating_sub(request.offset).min(length) as i64,
            RequestKind::Write => {
                self.sizes[file] = self.sizes[file].max(end);
                length as i64
            }
            RequestKind::Fsync | RequestKind::Fdatasync => 0,
        });
        flat(result)
    }

    /// Begin a request: when it is done, and what comes of it. It waits for a place, and for a stall to be over.
    fn begin(&mut self, request: Request) -> (u64, i64) {
        let number = self.carried_out.borrow().len();
        let result = self.result_of(number, request);
        let takes_ns = self.model.request_ns[number % self.model.request_ns.len()];
        let came_ns = self.clock.now_ns();
        let mut ends: Vec<u64> = self.in_hand.iter().map(|&(done_ns, _)| done_ns).collect();
        ends.sort_unstable();
        // The last `width` to end hold all places until the first of them is done.
        let free_ns = ends.len().checked_sub(self.model.width).map_or(0, |first| ends[first]);
        let begins_ns = came_ns.max(free_ns);
        let stall = &self.model.stall;
        let done_ns = if stall.contains(&begins_ns) { stall.end } else { begins_ns } + takes_ns;
        self.carried_out.borrow_mut().push(Carried { came_ns, done_ns, asked_bytes: request.length, result });
        if let Some((_, then)) = self.then.as_ref().filter(|(requests, _)| *requests == number + 1) {
            then();
        }
        (done_ns, result)
    }

    fn begin_queued(&mut self) {
        for (slot, request) in std::mem::take(&mut self.queued) {
            let (done_ns, result) = self.begin(request);
            if request.kind == RequestKind::Read {
                self.buffers.slot(slot, request.length).fill(0);
            }
            self.in_hand.push((done_ns, Completion { slot, result }));
        }
    }

    /// Let time pass until enough are done or the wait is over, and append what is done by then, the oldest first.
    fn reap(&mut self, done: &mut Vec<Completion>, wait: Wait) {
        self.in_hand.sort_by_key(|&(done_ns, _)| done_ns);
        let Some(&(enough_ns, _)) = self.in_hand.get(wait.at_least - 1) else { return };
        let over_ns = wait.within.map_or(u64::MAX, |time| self.clock.now_ns() + time.as_nanos() as u64);
        self.clock.nap_until(enough_ns.min(over_ns));
        self.take_done(done, wait.at_most);
    }

    /// Append what is done by now, the oldest first.
    fn take_done(&mut self, done: &mut Vec<Completion>, at_most: usize) {
        self.in_hand.sort_by_key(|&(done_ns, _)| done_ns);
        let now_ns = self.clock.now_ns();
        let count = self.in_hand.partition_point(|&(done_ns, _)| done_ns <= now_ns).min(at_most);
        done.extend(self.in_hand.drain(..count).map(|(_, completion)| completion));
    }
}

impl<T: Ticks> Backend for Null<T> {
    const NAME: &'static str = "null";

    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8] {
        let (before, up_to) = std::mem::replace(&mut self.worked, (slot, length));
        let worked = if before == slot && up_to < length { length - up_to } else { length };
        self.clock.burn_until(self.clock.now_ns() + worked as u64 * self.model.work_ns_per_kib / 1024);
        self.buffers.slot(slot, length)
    }

    fn execute(&mut self, request: Request) -> i64 {
        let (done_ns, result) = self.begin(request);
        if request.kind == RequestKind::Read {
            self.buffers.slot(0, request.length).fill(0);
        }
        self.clock.nap_until(done_ns);
        result
    }

    fn execute_in_pieces(&mut self, request: Request, piece_bytes: usize, stop: &AtomicBool) -> i64 {
        piece_by_piece(request.length, piece_bytes, stop, |moved, length| {
            self.execute(Request { offset: request.offset + moved as u64, length, ..request })
        })
    }
}

impl<T: Ticks> QueuedBackend for Null<T> {
    fn submit(&mut self, slot: usize, request: Request) {
        self.queued.push((slot, request));
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.begin_queued();
        if self.model.breaks_after.is_some_and(|requests| self.carried_out.borrow().len() >= requests) {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        Ok(())
    }

    fn complete(&mut self, done: &mut Vec<Completion>, wait: Wait) -> io::Result<()> {
        self.hand_over()?;
        self.reap(done, wait);
        Ok(())
    }

    fn look(&mut self, done: &mut Vec<Completion>, at_most: usize) -> io::Result<()> {
        self.take_done(done, at_most);
        Ok(())
    }
}

impl<T: Ticks> Store for Null<T> {
    fn open(&mut self, path: At<'_>, flags: i32) -> Result<Handle, i64> {
        self.call(0);
        let opened = self.opened(path, flags)?;
        Ok(self.entry(opened))
    }

    fn close(&mut self, file: Handle) -> i64 {
        let closed = self.open.get_mut(file.0 as usize).and_then(Option::take);
        self.call(if closed.is_some() { 0 } else { failed(libc::EBADF) })
    }

    fn stat(&mut self, path: At<'_>) -> i64 {
        self.call(if self.names.contains_key(path.path) { 0 } else { failed(libc::ENOENT) })
    }

    fn fstat(&mut self, file: Handle) -> i64 {
        self.call(flat(self.file_of(file).map(|_| 0)))
    }

    fn unlink(&mut self, path: At<'_>) -> i64 {
        let result = flat(self.file_at(path).map(|_| 0));
        if result == 0 {
            self.names.remove(path.path);
        }
        self.call(result)
    }

    fn rename(&mut self, from: At<'_>, to: At<'_>) -> i64 {
        let moved = self.names.remove(from.path).map(|node| self.names.insert(to.path.to_owned(), node));
        self.call(if moved.is_some() { 0 } else { failed(libc::ENOENT) })
    }

    fn link(&mut self, from: At<'_>, to: At<'_>) -> i64 {
        let result = flat(self.file_at(from).map(|file| self.named(to, Node::File(file))));
        self.call(result)
    }

    fn mkdir(&mut self, path: At<'_>) -> i64 {
        let result = self.named(path, Node::Directory);
        self.call(result)
    }

    fn rmdir(&mut self, path: At<'_>) -> i64 {
        let result = match self.names.get(path.path) {
            Some(Node::Directory) if self.names_in(path).is_empty() => 0,
            Some(Node::Directory) => failed(libc::ENOTEMPTY),
            Some(Node::File(_)) => failed(libc::ENOTDIR),
            None => failed(libc::ENOENT),
        };
        if result == 0 {
            self.names.remove(path.path);
        }
        self.call(result)
    }

    fn copy(&mut self, from: At<'_>, to: At<'_>, _stop: &AtomicBool) -> i64 {
        let result = self.file_at(from).map(|file| {
            let bytes = self.sizes[file];
            self.sizes.push(bytes);
            match self.named(to, Node::File(self.sizes.len() - 1)) {
                0 => bytes as i64,
                refused => refused,
            }
        });
        self.call(flat(result))
    }

    fn truncate(&mut self, path: At<'_>, length: u64) -> i64 {
        let result = self.file_at(path).map(|file| self.sizes[file] = length);
        self.call(flat(result.map(|()| 0)))
    }

    fn ftruncate(&mut self, file: Handle, length: u64) -> i64 {
        let result = self.file_of(file).map(|file| self.sizes[file] = length);
        self.call(flat(result.map(|()| 0)))
    }

    fn lock(&mut self, file: Handle, _lock: Lock) -> i64 {
        self.fstat(file)
    }

    fn entries(&mut self, directory: Handle, buffer: &mut [u8]) -> i64 {
        let filled = match self.open.get_mut(directory.0 as usize) {
            Some(Some(Open::Directory(names))) => listing::put(names, buffer) as i64,
            _ => failed(libc::EBADF),
        };
        self.call(filled)
    }
}
