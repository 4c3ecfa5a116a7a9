//! Faults under a mapping that do not end the engine.
//!
//! Touching a mapped page that storage cannot give (the file has shrunk, the disk is full or broken) raises SIGBUS. The
//! handler puts an empty page in the place of the faulty one, so that the copy can go on, and remembers that it did; the
//! copy then counts as failed. Faults anywhere else go to whoever handled them before.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

thread_local! {
    /// Range that this thread copies from or to, and whether a page of it was faulty. Plain cells without a destructor:
    /// reading them in a signal handler is reading memory.
    static FROM: Cell<usize> = const { Cell::new(0) };
    static END: Cell<usize> = const { Cell::new(0) };
    static FAULTY: Cell<bool> = const { Cell::new(false) };
}

static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Catch faults from now on.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: zero is a valid sigaction; only reading what is in force.
        let before = unsafe {
            libc::sigaction(libc::SIGBUS, std::ptr::null(), before.as_mut_ptr());
            before.assume_init()
        };
        let _ = BEFORE.set(before);
        // SAFETY: as above; the handler does nothing but read cells and map a page.
        unsafe {
            let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            action.sa_sigaction = on_fault as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
        }
    });
}

/// Copy within this thread; false when a page of the mapped range `[mapped, mapped + length)` was faulty. What was copied
/// then is no data of the file, and the faulty pages of the range are private empty ones until they are mapped anew.
///
/// # Safety
///
/// `from` and `to` are valid for `length` bytes and do not overlap; `mapped` is one of them, and belongs to a mapping
/// that no Rust reference points into.
pub unsafe fn copy(from: *const u8, to: *mut u8, mapped: *const u8, length: usize) -> bool {
    FROM.set(mapped as usize);
    END.set(mapped as usize + length);
    FAULTY.set(false);
    compiler_fence(Ordering::SeqCst);
    // SAFETY: by the caller's promise.
    unsafe { libc::memcpy(to.cast(), from.cast(), length) };
    compiler_fence(Ordering::SeqCst);
    END.set(0);
    !FAULTY.get()
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo; SIGBUS has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    // SAFETY: no memory is passed.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let page = address & !(page_bytes - 1);
    if address >= FROM.get() && address < END.get() {
        // SAFETY: the page lies in a mapping that the copy of this very thread works on, and that is its backend's own.
        let mapped = unsafe {
            libc::mmap(
                page as *mut libc::c_void,
                page_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        if mapped != libc::MAP_FAILED {
            FAULTY.set(true);
            return;
        }
    }
    // Not ours: the same fault comes again, to the handler from before.
    if let Some(before) = BEFORE.get() {
        // SAFETY: an action that was in force before.
        unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
    }
}
