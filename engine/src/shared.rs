//! Memory that workers share with the engine, whether they are threads or forked processes.
//!
//! Anonymous `MAP_SHARED` memory stays one and the same in parent and child after fork(2), at the same address. All state
//! that workers and observer hold in common lies in it, for threads too, so that there is one way. Its pages come into
//! being when they are first written, so room that a load does not use costs nothing.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

/// What may live in shared memory.
///
/// # Safety
///
/// All bytes zero is a valid value, the value holds no pointer into memory of one process, it can be changed through a
/// shared reference by several threads and processes at once (atomics all the way down), and it needs no drop.
pub unsafe trait Shareable: Sync {}

// SAFETY: atomics of plain numbers; zero is valid.
unsafe impl Shareable for AtomicBool {}
// SAFETY: as above.
unsafe impl Shareable for AtomicI32 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicU32 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicU64 {}

/// A row of values in shared memory, all zero at first.
pub struct SharedSlice<T: Shareable> {
    base: NonNull<T>,
    length: usize,
    owns: PhantomData<T>,
}

// SAFETY: the mapping belongs to this value alone; `T` is shared by atomics only (`Shareable`), so it does not matter
// which thread holds or drops the value.
unsafe impl<T: Shareable> Send for SharedSlice<T> {}
// SAFETY: a shared reference gives out `&T` only, and `T` is `Sync`.
unsafe impl<T: Shareable> Sync for SharedSlice<T> {}

impl<T: Shareable> SharedSlice<T> {
    /// `length` zeroes.
    ///
    /// # Errors
    ///
    /// The kernel has no memory or no mapping left.
    pub fn zeroed(length: usize) -> io::Result<Self> {
        const { assert!(align_of::<T>() <= 4096 && size_of::<T>() > 0) };
        if length == 0 {
            return Ok(Self { base: NonNull::dangling(), length, owns: PhantomData });
        }
        let bytes = length.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new anonymous mapping of a length above zero; the result is checked.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast()).expect("mmap without MAP_FIXED never gives address zero");
        Ok(Self { base, length, owns: PhantomData })
    }
}

impl SharedSlice<AtomicU64> {
    /// Zeroes again, as in the beginning. Only while nobody else uses them.
    pub fn clear(&self) {
        let bytes = self.length * size_of::<AtomicU64>();
        // SAFETY: exactly the mapping made in `zeroed`; its pages become zero, which is valid, and go back to the kernel.
        let failed = unsafe { libc::madvise(self.base.as_ptr().cast(), bytes, libc::MADV_REMOVE) } != 0;
        if failed {
            self.iter().for_each(|value| value.store(0, Relaxed));
        }
    }
}

impl<T: Shareable> Deref for SharedSlice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `length` values in a mapping that lives as long as `self`; all bytes zero are valid ones, and changes go
        // through atomics only (`Shareable`).
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.length) }
    }
}

impl<T: Shareable> Drop for SharedSlice<T> {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: exactly the mapping made in `zeroed`; references into it do not outlive `self`. Another process that
            // has it keeps its own mapping of the same memory.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.length * size_of::<T>()) };
        }
    }
}

impl<T: Shareable + fmt::Debug> fmt::Debug for SharedSlice<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

/// One value in shared memory, zero at first.
#[derive(Debug)]
pub struct SharedBox<T: Shareable>(SharedSlice<T>);

impl<T: Shareable> SharedBox<T> {
    /// A value of zeroes.
    ///
    /// # Errors
    ///
    /// The kernel has no memory or no mapping left.
    pub fn zeroed() -> io::Result<Self> {
        SharedSlice::zeroed(1).map(Self)
    }
}

impl<T: Shareable> Deref for SharedBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `zeroed` made exactly one.
        unsafe { self.0.get_unchecked(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_forked_process_adds_is_seen_by_its_parent() {
        let counts = SharedSlice::<AtomicU64>::zeroed(3).unwrap();
        counts[1].store(5, Relaxed);

        // SAFETY: the child touches shared memory and leaves at once, without running anything of the parent's.
        let child = unsafe { libc::fork() };
        if child == 0 {
            counts[1].fetch_add(37, Relaxed);
            // SAFETY: ends the child without the parent's exit handlers.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: `status` is valid for the call.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);

        assert_eq!(counts.iter().map(|count| count.load(Relaxed)).collect::<Vec<_>>(), [0, 42, 0]);
    }

    #[test]
    fn an_empty_row_has_no_values() {
        let none = SharedSlice::<AtomicU64>::zeroed(0).unwrap();

        none.clear();

        assert!(none.is_empty());
    }

    #[test]
    fn a_row_that_was_cleared_is_zero_and_can_be_written_again() {
        let row = SharedSlice::<AtomicU64>::zeroed(1000).unwrap();
        row.iter().for_each(|value| value.store(7, Relaxed));

        row.clear();

        assert!(row.iter().all(|value| value.load(Relaxed) == 0));
        row[999].store(5, Relaxed);
        assert_eq!(row[999].load(Relaxed), 5);
    }
}
