//! Files of one kind: how many, how large, where and of what.

use crate::plan::distribution::Distribution;
use serde::{Deserialize, Serialize};

/// Files of one kind, named by index: no list of names exists anywhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// Name that phases refer to.
    pub name: String,
    /// Target that holds it.
    pub target: String,
    /// Folder of the set, relative to the target's data folder; it carries Assay's mark.
    pub path: String,
    /// Number of indices: the most files that the set can hold.
    pub files: u64,
    /// Size of each file in bytes.
    pub size: Distribution,
    /// How files spread over directories.
    pub layout: Layout,
    /// File name; `{index}` is replaced by the zero-padded index.
    pub file_name: String,
    /// Share of the files that exist after `prepare` (the first ones); the rest is for creation during the run.
    pub existing_share: f64,
    /// What to do when the folder already holds a marked set.
    pub reuse: Reuse,
    /// What the bytes look like.
    pub content: Content,
    /// How blocks are allocated.
    pub allocate: Allocate,
    /// Threads that create it.
    pub create_workers: u32,
    /// Whether the set stays on the target after the run. `false`: removed however the run ends.
    pub keep: bool,
}

impl FileSet {
    /// Files of one size that all exist, in a folder that is called as the set is and goes with the run.
    pub fn plain(name: &str, target: &str, files: u64, size_bytes: f64, layout: Layout) -> Self {
        Self {
            name: name.to_owned(),
            target: target.to_owned(),
            path: name.to_owned(),
            files,
            size: Distribution::Fixed { value: size_bytes },
            layout,
            file_name: "f{index}".to_owned(),
            existing_share: 1.0,
            reuse: Reuse::Never,
            content: Content { compress_ratio: 1.0, dedupe_ratio: 1.0, stamped: false, zeros: false },
            allocate: Allocate::Write,
            create_workers: 2,
            keep: false,
        }
    }
}

/// How the files of a set spread over directories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Layout {
    /// All files in the set's own folder.
    Flat {},
    /// `files` files in each of as many numbered directories as are needed.
    PerDirectory {
        /// Files in one directory.
        files: u64,
    },
    /// Files only in the leaves of a tree of fixed shape.
    Tree {
        /// Sub-directories of each directory.
        width: u32,
        /// Levels below the set's folder.
        depth: u32,
    },
    /// A tree whose width is drawn per directory (Filebench).
    TreeGamma {
        /// Mean sub-directories or files of a directory.
        mean_width: f64,
        /// Shape of the gamma distribution; 0 is exact.
        gamma: f64,
    },
}

/// Whether a set that is already there may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Remove a marked set and lay it out anew.
    Never,
    /// Use it when its mark says that geometry, content and seed are the same.
    IfMatches,
    /// Use whatever is there without looking (files of the right names and sizes must exist).
    Trust,
}

/// What written bytes look like. The default is incompressible and unique.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Size before / size after compression (zstd level 3), 1 to 10; 1 is incompressible.
    pub compress_ratio: f64,
    /// Blocks of 4 KiB written / distinct ones; 1 is all unique. It holds for transfers of whole blocks.
    pub dedupe_ratio: f64,
    /// Whether every sector carries its place, its generation and a checksum, verified on read.
    pub stamped: bool,
    /// Nothing but zeroes, which many devices do not store.
    #[serde(default)]
    pub zeros: bool,
}

/// How file blocks come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allocate {
    /// Written with content, so that reads hit written blocks.
    Write,
    /// `fallocate`: allocated, never written. Reads of it are answered by the file system alone.
    Fallocate,
    /// `ftruncate`: holes.
    Sparse,
}
