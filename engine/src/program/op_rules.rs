//! What an operation of each kind is: one row a kind.
//!
//! Whoever wants to know something about a kind asks its row, so that the compiler leads whoever adds a kind here. Rows
//! have what is so before a worker runs; `worker/` has how an operation is executed.

use crate::backend::RequestKind;
use crate::plan::OpKind;

/// What an operation needs of the file that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Works {
    /// An open file: one that the worker opened before the start, or a slot with a handle.
    OnHandle,
    /// A slot with a handle that `create` or `open` left.
    OnOwnHandle,
    /// The file's name or, where a slot holds one, its handle.
    OnEither,
    /// The file's name, which a slot gives too.
    OnPath,
    /// A name of the set; a slot will not do, because the set counts which of its names exist.
    OnName,
    /// A directory of the set.
    OnDirectory,
}

/// What a slot holds after an operation that keeps its file there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// A handle that `close` may close.
    Handle,
    /// A handle that stays open: the worker opened it before the start.
    Lent,
    /// The file's name.
    Name,
}

/// What becomes of the names of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Nothing: it works on what exists.
    Stay,
    /// It makes the next free one.
    Make,
    /// It may make the next free one, or work on what exists.
    MayMake,
    /// It takes one away.
    Take,
    /// It takes one away and makes the next free one.
    Move,
    /// Beside one that exists it makes the next free one.
    Add,
}

/// PickOrders in which it may take files, each once: `listed` and `shuffled`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickOrders {
    /// None.
    None,
    /// `shuffled`, of the names that are free.
    OfFree,
    /// Both, of the files that exist.
    OfExisting,
}

/// Whether it can make its file take more room than it took when it was laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grows {
    /// It does not.
    Never,
    /// Where it goes beyond the end, or into a hole.
    WhereWritten,
    /// It can, wherever it goes.
    Always,
}

/// What becomes of the stamps of a stamped set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamps {
    /// They stay right.
    Right,
    /// Those of one file come under the name of another.
    Misnamed,
    /// They are cut off, or come to stand where none were, without a note.
    Unnoted,
    /// A program writes what has none.
    Overwritten,
}

/// What `size` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeOf {
    /// Nothing.
    Nothing,
    /// What is moved through the worker's buffer: at least 1 byte.
    Transfer,
    /// The value of an extended attribute: at least 1 byte, at most [`LONGEST_ATTRIBUTE_BYTES`].
    Attribute,
    /// A length, of any bytes.
    Length,
    /// A length, of 1 byte or more.
    LengthAboveZero,
}

/// What `flags.advice` may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdviceIn {
    /// Nothing.
    None,
    /// A name of posix_fadvise(2); it must.
    Fadvise,
    /// `wait`.
    Wait,
}

/// How it begins after another member of a script's group, which nobody looks at the clock between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// With work of the worker's own, which is in no latency.
    AfterWork,
    /// With its call.
    AtOnce,
    /// With its call, where its content was made before the first member.
    OnceMade,
}

/// Longest value of an extended attribute (XATTR_SIZE_MAX of the kernel).
pub const LONGEST_ATTRIBUTE_BYTES: usize = 64 << 10;
/// As much of a directory as readdir(3) asks for at once.
const LISTING_BYTES: usize = 32 << 10;

/// What an operation of a kind is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpRules {
    /// What it needs of the file that it is given.
    pub works: Works,
    /// What it leaves in a slot when its file comes from a set; None: it has nothing to leave.
    pub keeps: Option<Kept>,
    /// What becomes of the names of the set.
    pub names: Names,
    /// Whether its names are those of directories.
    pub is_of_directories: bool,
    /// PickOrders in which it may take files.
    pub orders: PickOrders,
    /// What it asks of the backend; None: it moves no data through one and flushes none.
    pub request: Option<RequestKind>,
    /// Whether its file has to be open for writing.
    pub needs_writing: bool,
    /// Whether its file can take more room.
    pub grows: Grows,
    /// What becomes of stamps.
    pub stamps: Stamps,
    /// What `size` says.
    pub size: SizeOf,
    /// What `flags.advice` may be.
    pub advice: AdviceIn,
    /// Whether it runs the program `flags.argv`.
    pub runs_program: bool,
    /// Memory that it needs beside the transfer buffer.
    pub scratch_bytes: usize,
    /// How it begins after another member of a script's group.
    pub begins: Begins,
    /// Whether another member of a script's group can begin where it ends.
    pub ends_open: bool,
    /// What to do where the file system does not offer it, for the message that ends the run.
    pub unsupported: &'static str,
}

const ON_HANDLE: OpRules = OpRules {
    works: Works::OnHandle,
    keeps: Some(Kept::Lent),
    names: Names::Stay,
    is_of_directories: false,
    orders: PickOrders::None,
    request: None,
    needs_writing: false,
    grows: Grows::Never,
    stamps: Stamps::Right,
    size: SizeOf::Nothing,
    advice: AdviceIn::None,
    runs_program: false,
    scratch_bytes: 0,
    begins: Begins::AfterWork,
    ends_open: false,
    unsupported: "the file system does not offer it; take it out of the load",
};
const ON_EITHER: OpRules = OpRules { works: Works::OnEither, keeps: Some(Kept::Name), ..ON_HANDLE };
const ON_PATH: OpRules = OpRules { works: Works::OnPath, ..ON_EITHER };
const ON_NAME: OpRules = OpRules { works: Works::OnName, ..ON_EITHER };
const TO_NEW_NAME: OpRules = OpRules { names: Names::Add, stamps: Stamps::Misnamed, ..ON_NAME };
const ON_DIRECTORY: OpRules =
    OpRules { works: Works::OnDirectory, keeps: None, scratch_bytes: LISTING_BYTES, ..ON_HANDLE };
const NEEDS_ATTRIBUTES: &str = "the file system keeps no user attributes; mount it with user_xattr";

const fn of_data(request: RequestKind) -> OpRules {
    OpRules { request: Some(request), begins: Begins::AtOnce, ends_open: true, ..ON_HANDLE }
}

impl OpKind {
    /// What an operation of this kind is.
    #[inline]
    pub const fn rules(self) -> OpRules {
        match self {
            Self::Read => OpRules { size: SizeOf::Transfer, ..of_data(RequestKind::Read) },
            Self::Write => OpRules {
                size: SizeOf::Transfer,
                needs_writing: true,
                grows: Grows::WhereWritten,
                begins: Begins::OnceMade,
                ..of_data(RequestKind::Write)
            },
            Self::Fsync => of_data(RequestKind::Fsync),
            Self::Fdatasync => of_data(RequestKind::Fdatasync),
            Self::SyncFileRange => OpRules { size: SizeOf::Length, advice: AdviceIn::Wait, ..ON_HANDLE },
            Self::Create => OpRules {
                keeps: Some(Kept::Handle),
                names: Names::Make,
                orders: PickOrders::OfFree,
                ends_open: true,
                ..ON_NAME
            },
            Self::Open => {
                OpRules { keeps: Some(Kept::Handle), orders: PickOrders::OfExisting, ends_open: true, ..ON_NAME }
            }
            Self::Close => OpRules { works: Works::OnOwnHandle, begins: Begins::AtOnce, ..ON_HANDLE },
            Self::Stat => OpRules { orders: PickOrders::OfExisting, ..ON_PATH },
            Self::Fstat => ON_HANDLE,
            Self::Unlink => OpRules { keeps: None, names: Names::Take, orders: PickOrders::OfExisting, ..ON_NAME },
            Self::Rename => OpRules { names: Names::Move, ..TO_NEW_NAME },
            Self::Link | Self::Symlink => TO_NEW_NAME,
            Self::Truncate => {
                OpRules { size: SizeOf::Length, needs_writing: true, stamps: Stamps::Unnoted, ..ON_EITHER }
            }
            Self::TruncateAt => {
                OpRules { size: SizeOf::LengthAboveZero, needs_writing: true, stamps: Stamps::Unnoted, ..ON_HANDLE }
            }
            Self::PunchHole => OpRules {
                size: SizeOf::LengthAboveZero,
                needs_writing: true,
                stamps: Stamps::Unnoted,
                unsupported: "the file system has no holes to punch; take it out of the load",
                ..ON_HANDLE
            },
            Self::Discard => OpRules {
                size: SizeOf::LengthAboveZero,
                needs_writing: true,
                stamps: Stamps::Unnoted,
                unsupported: "the device takes no discards; take it out of the load",
                ..ON_HANDLE
            },
            Self::WriteZeroes => OpRules {
                size: SizeOf::LengthAboveZero,
                needs_writing: true,
                grows: Grows::Always,
                stamps: Stamps::Unnoted,
                unsupported: "the file system cannot zero a range without writing; write zeros instead",
                ..ON_HANDLE
            },
            Self::Fallocate => OpRules {
                size: SizeOf::LengthAboveZero,
                needs_writing: true,
                grows: Grows::Always,
                stamps: Stamps::Unnoted,
                unsupported: "the file system cannot allocate without writing; write instead",
                ..ON_HANDLE
            },
            Self::Mkdir => {
                OpRules { keeps: None, names: Names::Make, is_of_directories: true, stamps: Stamps::Unnoted, ..ON_NAME }
            }
            Self::Rmdir => {
                OpRules { keeps: None, names: Names::Take, is_of_directories: true, stamps: Stamps::Unnoted, ..ON_NAME }
            }
            Self::Readdir | Self::ReaddirStat => ON_DIRECTORY,
            Self::Clone => OpRules {
                unsupported: "the file system has no reflinks, XFS and Btrfs have; use copy instead",
                ..TO_NEW_NAME
            },
            Self::Copy => OpRules {
                grows: Grows::Always,
                unsupported: "the kernel cannot copy within this file system; read and write instead",
                ..TO_NEW_NAME
            },
            Self::Chmod => ON_EITHER,
            Self::Setxattr => OpRules {
                size: SizeOf::Attribute,
                scratch_bytes: LONGEST_ATTRIBUTE_BYTES,
                unsupported: NEEDS_ATTRIBUTES,
                ..ON_EITHER
            },
            Self::Getxattr => {
                OpRules { scratch_bytes: LONGEST_ATTRIBUTE_BYTES, unsupported: NEEDS_ATTRIBUTES, ..ON_EITHER }
            }
            Self::Advise => OpRules { size: SizeOf::Length, advice: AdviceIn::Fadvise, ..ON_HANDLE },
            Self::Lock => OpRules { needs_writing: true, ..ON_HANDLE },
            Self::LockShared | Self::Unlock => ON_HANDLE,
            Self::Spawn => OpRules {
                names: Names::MayMake,
                size: SizeOf::Length,
                grows: Grows::Always,
                stamps: Stamps::Overwritten,
                runs_program: true,
                ..ON_PATH
            },
        }
    }

    /// The word for it, as the Plan writes it.
    pub fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Why every operation of this kind fails here, and what to do, if that is what the error number says.
    pub fn unsupported(self, errno: i32) -> Option<&'static str> {
        matches!(errno, libc::EOPNOTSUPP | libc::ENOSYS | libc::ENOTTY).then_some(self.rules().unsupported)
    }
}

impl OpRules {
    /// Whether it moves data between a file and the worker's buffer.
    #[inline]
    pub const fn moves_data(&self) -> bool {
        matches!(self.request, Some(RequestKind::Read | RequestKind::Write))
    }

    /// Whether it reads data.
    #[inline]
    pub const fn reads(&self) -> bool {
        matches!(self.request, Some(RequestKind::Read))
    }

    /// Whether it writes data.
    #[inline]
    pub const fn writes(&self) -> bool {
        matches!(self.request, Some(RequestKind::Write))
    }

    /// Whether it flushes.
    #[inline]
    pub const fn flushes(&self) -> bool {
        matches!(self.request, Some(RequestKind::Fsync | RequestKind::Fdatasync))
    }

    /// Whether it takes a name of the set away.
    #[inline]
    pub const fn takes_old(&self) -> bool {
        matches!(self.names, Names::Take | Names::Move)
    }

    /// Whether it goes from one name to another.
    #[inline]
    pub const fn has_two_names(&self) -> bool {
        matches!(self.names, Names::Move | Names::Add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_for_a_kind_is_the_plans() {
        assert_eq!(OpKind::SyncFileRange.name(), "sync_file_range");
    }

    #[test]
    fn only_what_the_kernel_does_not_offer_ends_a_run_at_its_first_failure() {
        assert!(OpKind::Clone.unsupported(libc::EOPNOTSUPP).unwrap().contains("reflinks"));
        assert!(OpKind::Lock.unsupported(libc::ENOSYS).unwrap().contains("take it out"));
        assert_eq!(OpKind::Clone.unsupported(libc::ENOSPC), None);
    }
}
