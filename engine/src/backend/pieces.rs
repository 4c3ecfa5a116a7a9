//! The pieces of vectored calls: one buffer, cut into equal parts.

/// Most pieces that the kernel takes (UIO_MAXIOV).
pub const MOST_PIECES: u32 = 1024;

/// Room for the pieces of every slot, made once so that a call allocates nothing.
#[derive(Debug)]
pub struct Pieces {
    vectors: Vec<libc::iovec>,
    per_slot: usize,
}

impl Pieces {
    /// Room for `slots` calls of at most `per_slot` pieces.
    pub fn new(slots: usize, per_slot: u32) -> Self {
        let per_slot = per_slot.clamp(1, MOST_PIECES) as usize;
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Self { vectors: vec![empty; slots * per_slot], per_slot }
    }

    /// Cut `length` bytes at `address` into at most `count` pieces of equal size; the last one takes what is left.
    pub fn cut(&mut self, slot: usize, address: *mut u8, length: usize, count: u32) -> &[libc::iovec] {
        let count = (count as usize).clamp(1, self.per_slot);
        let piece = length.div_ceil(count).max(1);
        let vectors = &mut self.vectors[slot * self.per_slot..][..count];
        let mut used = 0;
        for (vector, from) in vectors.iter_mut().zip((0..length.max(1)).step_by(piece)) {
            vector.iov_base = address.wrapping_add(from).cast();
            vector.iov_len = piece.min(length - from);
            used += 1;
        }
        &vectors[..used]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_cover_the_buffer_once_and_in_order(length in 0_usize..100_000, count in 0_u32..2000) {
            let mut pieces = Pieces::new(3, MOST_PIECES);
            let base = 0x1000 as *mut u8;

            let vectors = pieces.cut(1, base, length, count);

            let mut at = base as usize;
            for vector in vectors {
                prop_assert_eq!(vector.iov_base as usize, at);
                at += vector.iov_len;
            }
            prop_assert_eq!(at, base as usize + length);
            prop_assert!(vectors.len() <= count.clamp(1, MOST_PIECES) as usize);
            prop_assert!(vectors.iter().all(|vector| vector.iov_len <= vectors[0].iov_len));
        }
    }
}
