//! What files hold: made, stamped, and judged.

pub mod bad_blocks;
pub mod duplicates;
pub mod fill;
pub mod found;
pub mod generations;
pub mod judge;
pub mod parts;
pub mod stamp;
pub mod texture;

/// Bytes of a file that are made, counted and judged as one.
pub const BLOCK_BYTES: usize = 4096;
