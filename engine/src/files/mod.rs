//! File sets: names, layout, and how files come and go.
//!
//! A file set is rules, not a list: name, place, size and content of file `i` follow from the Plan, the seed and `i`
//! alone. Nothing here keeps memory for each file, but for 16 bytes where several workers make and remove them
//! (`indices.rs`).

pub mod block_groups;
pub mod data_folder;
pub mod fileset;
pub mod fill_up;
pub mod free_space;
pub mod growth;
pub mod hidden;
pub mod index_queue;
pub mod indices;
pub mod joint;
pub mod lay_out;
pub mod mark;
pub mod names;
pub mod open_files;
pub mod owner;
pub mod progress;
pub mod remove;
pub mod root;
pub mod spread;
pub mod write_files;
