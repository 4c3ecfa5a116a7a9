//! What each operation works on: file sets and their names, sizes, content, and how they come and go.
//!
//! A file set is rules, not a list: name, place, size and content of file `i` follow from the Plan, the seed and `i`
//! alone. Nothing here keeps memory for each file, but for 16 bytes where several workers make and remove them
//! (`indices.rs`).

pub mod actions;
pub mod advice;
pub mod age;
pub mod backend_rules;
pub mod cache_steps;
pub mod choice;
pub mod command;
pub mod compile;
pub mod content;
pub mod coordination;
pub mod data_folder;
pub mod duplicates;
pub mod file_rules;
pub mod fileset;
pub mod fill;
pub mod free_space;
pub mod generations;
pub mod growth;
pub mod index_queue;
pub mod indices;
pub mod judge;
pub mod lay_out;
pub mod limits;
pub mod lines;
pub mod mark;
pub mod names;
pub mod offsets;
pub mod op;
pub mod open_files;
pub mod pacing;
pub mod permutation;
pub mod posix;
pub mod progress;
pub mod ranks;
pub mod remove;
pub mod script;
pub mod script_text;
pub mod sizes;
pub mod spread;
pub mod stamp;
pub mod stamp_rules;
pub mod texture;
pub mod verify;
pub mod write_files;
