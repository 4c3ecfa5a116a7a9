//! What files hold: made, stamped, and judged.

pub mod duplicates;
pub mod fill;
pub mod generations;
pub mod judge;
pub mod stamp;
pub mod texture;
pub mod verify;
