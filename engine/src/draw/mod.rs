//! What is drawn: offsets, sizes, ranks, orders, branches.

pub mod choice;
pub mod mix;
pub mod offsets;
pub mod permutation;
pub mod ranks;
pub mod sizes;
