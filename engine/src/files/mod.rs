//! File sets by their rules: names, layout, which files exist. How they come into being is `places/`'.
//!
//! A file set is rules, not a list: name, place, size and content of file `i` follow from the Plan, the seed and `i`
//! alone. Nothing here keeps memory for each file, but for 16 bytes where several workers make and remove them
//! (`indices.rs`).

pub mod fileset;
pub mod index_queue;
pub mod indices;
pub mod names;
pub mod open_files;
pub mod root;
pub mod spread;
