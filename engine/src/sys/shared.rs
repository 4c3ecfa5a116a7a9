//! Memory that workers share with the engine, whether they are threads or forked processes.
//!
//! Anonymous `MAP_SHARED` memory stays one and the same in parent and child after fork(2), at the same address. All state
//! that workers and observer hold in common lies in it, for threads too, so that there is one way. Its pages come into
//! being when they are first written, so room that a load does not use costs nothing.
//!
//! Small rows lie side by side in one mapping, each on cache lines of its own, and the mapping goes when the last of them
//! does: a phase makes and drops several rows a worker, and the kernel takes longer for a mapping of its own than the
//! phase for its work. What was handed out once is not handed out again, so it is always zero.

use crate::sys::mapping::Mapping;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Size of a mapping that small rows lie in.
const CHUNK_BYTES: usize = 1 << 20;
/// Rows of more bytes have a mapping of their own, which gives its memory back as soon as they are cleared or dropped.
const SMALL_BYTES: usize = CHUNK_BYTES / 16;
/// Where a row may begin: no two share what the processor fetches at once, which is two lines of 64 bytes.
const ALIGN_BYTES: usize = 128;
/// The mapping that small rows come from at present.
static CHUNK: Mutex<Option<Arc<Mapping>>> = Mutex::new(None);

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
// SAFETY: what holds for each holds for all of them.
unsafe impl<T: Shareable, const N: usize> Shareable for [T; N] {}

/// Declare structures that may live in shared memory: each of their fields may.
macro_rules! shareable {
    ($(
        $(#[$about:meta])* $seen:vis struct $name:ident {
            $($(#[$about_field:meta])* $field_seen:vis $field:ident: $type:ty),* $(,)?
        }
    )*) => {$(
        $(#[$about])*
        $seen struct $name {
            $($(#[$about_field])* $field_seen $field: $type,)*
        }

        // SAFETY: what holds for each field holds for all of them, and nothing is dropped.
        unsafe impl $crate::sys::shared::Shareable for $name where $($type: $crate::sys::shared::Shareable),* {}
        const _: () = assert!(!std::mem::needs_drop::<$name>());
    )*};
}
pub(crate) use shareable;

fn map(bytes: usize) -> io::Result<Arc<Mapping>> {
    Mapping::new(bytes, libc::MAP_SHARED | libc::MAP_NORESERVE, None).map(Arc::new)
}

/// The next `bytes` of a chunk; None when it has no room for them. How far it is used is in the chunk, so that a forked
/// process and its parent never hand out the same bytes.
fn hand_out(chunk: &Mapping, bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: a chunk begins with this number, and with nothing else in its first `ALIGN_BYTES`; zero is valid.
    let used = unsafe { chunk.base().cast::<AtomicUsize>().as_ref() };
    let at = used.fetch_add(bytes.next_multiple_of(ALIGN_BYTES), Relaxed) + ALIGN_BYTES;
    // SAFETY: the end of the row lies in the mapping.
    (at + bytes <= chunk.bytes()).then(|| unsafe { chunk.base().add(at) })
}

/// Zeroed memory for a row, and the mapping that it lies in.
fn allocate(bytes: usize) -> io::Result<(NonNull<u8>, Arc<Mapping>)> {
    if bytes > SMALL_BYTES {
        let mapping = map(bytes)?;
        return Ok((mapping.base(), mapping));
    }
    let mut chunk = CHUNK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(chunk) = &*chunk
        && let Some(base) = hand_out(chunk, bytes)
    {
        return Ok((base, Arc::clone(chunk)));
    }
    let new = chunk.insert(map(CHUNK_BYTES)?);
    Ok((hand_out(new, bytes).expect("a small row fits into a new chunk"), Arc::clone(new)))
}

/// A row of values in shared memory, all zero at first.
pub struct SharedSlice<T: Shareable> {
    base: NonNull<T>,
    length: usize,
    /// What the row lies in; None for an empty one.
    mapping: Option<Arc<Mapping>>,
    owns: PhantomData<T>,
}

// SAFETY: the row belongs to this value alone; `T` is shared by atomics only (`Shareable`), so it does not matter which
// thread holds or drops the value.
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
        const { assert!(align_of::<T>() <= ALIGN_BYTES && size_of::<T>() > 0) };
        if length == 0 {
            return Ok(Self { base: NonNull::dangling(), length, mapping: None, owns: PhantomData });
        }
        let bytes = length.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let (base, mapping) = allocate(bytes)?;
        Ok(Self { base: base.cast(), length, mapping: Some(mapping), owns: PhantomData })
    }

    /// Whether it has a mapping of its own: in a chunk no row is at the start.
    fn is_alone(&self) -> bool {
        self.mapping.as_ref().is_some_and(|mapping| mapping.base() == self.base.cast())
    }
}

impl SharedSlice<AtomicU64> {
    /// Zeroes again, as in the beginning. Only while nobody else uses them.
    pub fn clear(&self) {
        let bytes = self.length * size_of::<AtomicU64>();
        // SAFETY: exactly the mapping of this row; its pages become zero, which is valid, and go back to the kernel.
        let give_back = || unsafe { libc::madvise(self.base.as_ptr().cast(), bytes, libc::MADV_REMOVE) } == 0;
        if !(self.is_alone() && give_back()) {
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
    fn what_a_forked_process_takes_of_a_chunk_is_not_given_to_its_parent() {
        let chunk = map(CHUNK_BYTES).unwrap();
        let first = hand_out(&chunk, 8).unwrap();

        // SAFETY: as above.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let taken = hand_out(&chunk, ALIGN_BYTES + 1).is_some();
            // SAFETY: as above.
            unsafe { libc::_exit(i32::from(!taken)) };
        }
        let mut status = -1;
        // SAFETY: as above.
        assert_eq!((unsafe { libc::waitpid(child, &raw mut status, 0) }, status), (child, 0));

        let second = hand_out(&chunk, 8).unwrap();
        assert_eq!(second.as_ptr() as usize - first.as_ptr() as usize, 3 * ALIGN_BYTES);
    }

    #[test]
    fn rows_of_any_size_begin_on_lines_of_their_own_and_do_not_touch() {
        let rows: Vec<_> = (0..3000).map(|at| SharedSlice::<AtomicU64>::zeroed(1 + 37 * (at % 700)).unwrap()).collect();
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(row.as_ptr() as usize % ALIGN_BYTES, 0);
            row.iter().for_each(|value| assert_eq!(value.swap(at as u64 + 1, Relaxed), 0));
        }

        for (at, row) in rows.iter().enumerate() {
            assert!(row.iter().all(|value| value.load(Relaxed) == at as u64 + 1));
        }
    }

    #[test]
    fn what_lies_beside_a_row_that_is_cleared_stays() {
        let rows = [(); 3].map(|()| SharedSlice::<AtomicU64>::zeroed(600).unwrap());
        rows.iter().flat_map(|row| row.iter()).for_each(|value| value.store(7, Relaxed));

        rows[1].clear();

        let sums = rows.each_ref().map(|row| row.iter().map(|value| value.load(Relaxed)).sum::<u64>());
        assert_eq!(sums, [4200, 0, 4200]);
    }

    #[test]
    fn an_empty_row_has_no_values() {
        let none = SharedSlice::<AtomicU64>::zeroed(0).unwrap();

        none.clear();

        assert!(none.is_empty());
    }

    #[test]
    fn a_row_that_was_cleared_is_zero_and_can_be_written_again() {
        for length in [1000, SMALL_BYTES / 8 + 1] {
            let row = SharedSlice::<AtomicU64>::zeroed(length).unwrap();
            row.iter().for_each(|value| value.store(7, Relaxed));

            row.clear();

            assert!(row.iter().all(|value| value.load(Relaxed) == 0));
            row[length - 1].store(5, Relaxed);
            assert_eq!(row[length - 1].load(Relaxed), 5);
        }
    }
}
