//! What lies in shared memory, here on the heap: loom sees its atomics only where they were made one by one.

use crate::sys::atomic::{AtomicU32, AtomicU64};
use std::io;
use std::ops::Deref;

/// What begins as zeroes.
pub trait Shareable {
    /// All zero.
    fn zero() -> Self;
}

impl Shareable for AtomicU32 {
    fn zero() -> Self {
        Self::new(0)
    }
}

impl Shareable for AtomicU64 {
    fn zero() -> Self {
        Self::new(0)
    }
}

/// Declare structures that may be shared, as the engine's macro of this name does.
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

        impl $crate::sys::shared::Shareable for $name {
            fn zero() -> Self {
                Self { $($field: $crate::sys::shared::Shareable::zero()),* }
            }
        }
    )*};
}
pub(crate) use shareable;

/// A row of values.
#[derive(Debug)]
pub struct SharedSlice<T>(Vec<T>);

impl<T: Shareable> SharedSlice<T> {
    /// `length` zeroes.
    ///
    /// # Errors
    ///
    /// None here.
    pub fn zeroed(length: usize) -> io::Result<Self> {
        Ok(Self((0..length).map(|_| T::zero()).collect()))
    }
}

impl SharedSlice<AtomicU64> {
    /// Zeroes again, as in the beginning.
    pub fn clear(&self) {
        self.iter().for_each(|value| value.store(0, crate::sys::atomic::Ordering::Relaxed));
    }
}

impl<T> Deref for SharedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

/// One value.
#[derive(Debug)]
pub struct SharedBox<T>(Box<T>);

impl<T: Shareable> SharedBox<T> {
    /// Zeroes.
    ///
    /// # Errors
    ///
    /// None here.
    pub fn zeroed() -> io::Result<Self> {
        Ok(Self(Box::new(T::zero())))
    }
}

impl<T> Deref for SharedBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
