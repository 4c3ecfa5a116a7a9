//! The system calls of the file layer that `std` lacks, each as a safe function.
//!
//! All unsafe code of the file layer but the AVX2 kernel of `content` is here. Names are relative to an open directory
//! wherever something is removed, so that a path cannot change its meaning half-way.

use super::{beneath, syscall};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The return value, or errno when it is negative.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// As `checked`, of a call that is made again when it was interrupted.
fn retried(mut call: impl FnMut() -> libc::c_int) -> io::Result<libc::c_int> {
    loop {
        match checked(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// A path as the kernel wants it.
pub fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// `openat`, close-on-exec, a final symbolic link never followed.
pub fn open_at(directory: BorrowedFd<'_>, name: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    open_raw(directory.as_raw_fd(), name, flags, mode)
}

/// A new file in memory, without a name, close-on-exec.
pub fn memory_file(label: &CStr) -> io::Result<File> {
    // SAFETY: the label is NUL-terminated and lives through the call.
    let fd = checked(unsafe { libc::memfd_create(label.as_ptr(), libc::MFD_CLOEXEC) })?;
    // SAFETY: the kernel has just returned this descriptor; nobody else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// The user whose rights this process has.
pub fn user() -> u32 {
    // SAFETY: no memory is passed; it cannot fail.
    unsafe { libc::geteuid() }
}

/// `open` by path, close-on-exec, a final symbolic link never followed.
pub fn open(path: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    open_raw(libc::AT_FDCWD, path, flags, mode)
}

fn open_raw(directory: libc::c_int, name: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: `name` is NUL-terminated and lives through the call.
    let fd = retried(|| unsafe { libc::openat(directory, name.as_ptr(), flags, mode) })?;
    // SAFETY: the kernel has just returned this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Open what lies below an open directory, close-on-exec; no symbolic link is followed ([`beneath`]).
pub fn open_beneath(directory: BorrowedFd<'_>, path: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    own(beneath::open(directory.as_raw_fd(), path, flags | libc::O_CLOEXEC, mode))
}

/// Open a sub-directory that is neither a symbolic link nor on another mount. Where the kernel cannot report mounts only the
/// caller's comparison of device numbers is left.
pub fn open_directory_at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    open_on_mount(directory, name, libc::O_RDONLY | libc::O_DIRECTORY, 0)
}

/// As [`open_beneath`], and on no other mount either.
pub fn open_on_mount(directory: BorrowedFd<'_>, path: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    own(beneath::open_on_mount(directory.as_raw_fd(), path, flags | libc::O_CLOEXEC, mode))
}

/// A descriptor that the kernel has returned just now, or its error.
fn own(result: i64) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result as i32));
    }
    // SAFETY: the kernel has just returned this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(result as libc::c_int) })
}

/// Make a directory in or below an open one.
pub fn make_directory_at(directory: BorrowedFd<'_>, path: &CStr) -> io::Result<()> {
    // SAFETY: `path` is NUL-terminated and lives through the call.
    checked(unsafe { libc::mkdirat(directory.as_raw_fd(), path.as_ptr(), 0o755) }).map(drop)
}

/// Remove a name that is not a directory.
pub fn unlink_at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: `name` is NUL-terminated and lives through the call.
    checked(unsafe { libc::unlinkat(directory.as_raw_fd(), name.as_ptr(), 0) }).map(drop)
}

/// Remove an empty directory.
pub fn remove_directory_at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: `name` is NUL-terminated and lives through the call.
    checked(unsafe { libc::unlinkat(directory.as_raw_fd(), name.as_ptr(), libc::AT_REMOVEDIR) }).map(drop)
}

/// Rename inside one directory.
pub fn rename_at(directory: BorrowedFd<'_>, from: &CStr, to: &CStr) -> io::Result<()> {
    let fd = directory.as_raw_fd();
    // SAFETY: both names are NUL-terminated and live through the call.
    checked(unsafe { libc::renameat(fd, from.as_ptr(), fd, to.as_ptr()) }).map(drop)
}

/// Rename below one directory to a name that nothing has: EEXIST where something does.
pub fn rename_to_new_at(directory: BorrowedFd<'_>, from: &CStr, to: &CStr) -> io::Result<()> {
    let (fd, from, to) = (directory.as_raw_fd(), from.as_ptr(), to.as_ptr());
    // SAFETY: both names are NUL-terminated and live through the call.
    let result = unsafe { libc::syscall(libc::SYS_renameat2, fd, from, fd, to, libc::RENAME_NOREPLACE) };
    checked(result as libc::c_int).map(drop)
}

/// Attributes of a name, of a symbolic link itself.
pub fn stat_at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: `name` is NUL-terminated, `status` has room for a stat; both live through the call.
    checked(unsafe { libc::fstatat(directory.as_raw_fd(), name.as_ptr(), status.as_mut_ptr(), flags) })?;
    // SAFETY: fstatat succeeded, so it has filled `status`.
    Ok(unsafe { status.assume_init() })
}

/// Attributes of a path, of a symbolic link itself.
pub fn stat(path: &CStr) -> io::Result<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `path` is NUL-terminated, `status` has room for a stat; both live through the call.
    checked(unsafe { libc::lstat(path.as_ptr(), status.as_mut_ptr()) })?;
    // SAFETY: lstat succeeded, so it has filled `status`.
    Ok(unsafe { status.assume_init() })
}

/// Attributes of something open.
pub fn fstat(file: BorrowedFd<'_>) -> io::Result<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `status` has room for a stat and lives through the call.
    checked(unsafe { libc::fstat(file.as_raw_fd(), status.as_mut_ptr()) })?;
    // SAFETY: fstat succeeded, so it has filled `status`.
    Ok(unsafe { status.assume_init() })
}

/// Numbers of the file system that holds something open.
pub fn file_system_of(file: BorrowedFd<'_>) -> io::Result<libc::statvfs> {
    let mut status = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `status` has room for a statvfs and lives through the call.
    retried(|| unsafe { libc::fstatvfs(file.as_raw_fd(), status.as_mut_ptr()) })?;
    // SAFETY: fstatvfs succeeded, so it has filled `status`.
    Ok(unsafe { status.assume_init() })
}

/// The kernel's number of the kind of file system that something open is on; 0 where fstatfs(2) fails.
pub fn kind_of_file_system(file: BorrowedFd<'_>) -> i64 {
    let mut facts = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: `facts` has room for a statfs, and zeroed memory is a valid one should the call fail.
    let facts = unsafe {
        libc::fstatfs(file.as_raw_fd(), facts.as_mut_ptr());
        facts.assume_init()
    };
    facts.f_type as i64
}

/// The flags that `chattr` changes.
pub fn inode_flags(file: BorrowedFd<'_>) -> io::Result<u32> {
    let mut flags: libc::c_int = 0;
    // SAFETY: the call writes an int, whatever its name says of a long, and `flags` lives through it.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &raw mut flags) })?;
    Ok(flags as u32)
}

/// Set the flags that `chattr` changes; the owner may.
pub fn set_inode_flags(file: BorrowedFd<'_>, flags: u32) -> io::Result<()> {
    let flags = flags as libc::c_int;
    // SAFETY: the call reads an int, and `flags` lives through it.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_SETFLAGS, &raw const flags) }).map(drop)
}

/// Take an exclusive `flock` without waiting.
pub fn try_lock_exclusive(file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: flock takes no pointers.
    retried(|| unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }).map(drop)
}

/// Take a shared `flock` without waiting.
pub fn try_lock_shared(file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: flock takes no pointers.
    retried(|| unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) }).map(drop)
}

/// Let an `flock` go.
pub fn unlock(file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: flock takes no pointers.
    retried(|| unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) }).map(drop)
}

/// Whether the calling user may write into and enter a directory.
pub fn may_write(path: &CStr) -> io::Result<()> {
    let flags = libc::AT_EACCESS;
    // SAFETY: `path` is NUL-terminated and lives through the call.
    checked(unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::W_OK | libc::X_OK, flags) }).map(drop)
}

/// Close a file and return what that reported. As `drop` has it, a file is closed after EINTR too.
pub fn close(file: impl IntoRawFd) -> io::Result<()> {
    match -syscall::close(file.into_raw_fd()) as i32 {
        0 | libc::EINTR => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Write everything dirty of one file system.
pub fn sync_file_system(file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: syncfs takes no pointers.
    retried(|| unsafe { libc::syncfs(file.as_raw_fd()) }).map(drop)
}

/// Write everything dirty of the machine.
pub fn sync_all() {
    // SAFETY: sync takes no arguments and cannot fail.
    unsafe { libc::sync() };
}

/// Alignment that a file system asks of the offsets and sizes of direct I/O, by statx(2) (Linux 6.1); 512 where it reports none.
pub fn direct_alignment(file: BorrowedFd<'_>) -> u64 {
    let mut answer = MaybeUninit::<libc::statx>::zeroed();
    let (fd, flags) = (file.as_raw_fd(), libc::AT_EMPTY_PATH);
    // SAFETY: an empty path with AT_EMPTY_PATH means the descriptor; `answer` has room for the answer.
    let failed = unsafe { libc::statx(fd, c"".as_ptr(), flags, libc::STATX_DIOALIGN, answer.as_mut_ptr()) };
    // SAFETY: zeroed memory is a valid statx, filled or not.
    let answer = unsafe { answer.assume_init() };
    if failed != 0 || answer.stx_mask & libc::STATX_DIOALIGN == 0 || answer.stx_dio_offset_align == 0 {
        return 512;
    }
    u64::from(answer.stx_dio_offset_align)
}

/// Bytes of an open file, or of an open block device, whose attributes do not tell.
pub fn length_of(file: BorrowedFd<'_>) -> io::Result<u64> {
    let facts = fstat(file)?;
    if facts.st_mode & libc::S_IFMT != libc::S_IFBLK {
        return Ok(facts.st_size as u64);
    }
    // SAFETY: no memory is passed. Nobody reads or writes a device at its position.
    let end = unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_END) };
    if end < 0 { Err(io::Error::last_os_error()) } else { Ok(end as u64) }
}

/// Bytes of a logical block of an open block device, which whatever it is asked for is a multiple of (BLKSSZGET).
pub fn logical_block_bytes(device: BorrowedFd<'_>) -> io::Result<u64> {
    /// `_IO(0x12, 104)` of linux/fs.h.
    const BLKSSZGET: libc::c_ulong = 0x1268;
    let mut bytes: libc::c_int = 0;
    // SAFETY: the call writes one int, for which there is room.
    retried(|| unsafe { libc::ioctl(device.as_raw_fd(), BLKSSZGET as _, &raw mut bytes) })?;
    u64::try_from(bytes).ok().filter(|&bytes| bytes > 0).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// `_IO(0x12, 119)` of linux/fs.h: discard a range of a block device.
pub const BLKDISCARD: libc::c_ulong = 0x1277;

/// Discard a range of an open block device, whose content is lost (BLKDISCARD).
pub fn discard(device: BorrowedFd<'_>, offset: u64, length: u64) -> io::Result<()> {
    let range = [offset, length];
    // SAFETY: the call reads two numbers of 64 bits, which live through it.
    retried(|| unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) }).map(drop)
}

/// A number of this system, `_SC_...`.
pub fn system_number(name: libc::c_int) -> u64 {
    // SAFETY: sysconf takes no pointers.
    let number = unsafe { libc::sysconf(name) };
    u64::try_from(number).expect("every Linux knows it")
}

/// Host name and kernel release by uname(2).
pub fn system_names() -> (String, String) {
    let mut names = MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: `names` is a valid utsname for the call, zeroes included; uname fails on bad addresses only.
    let names = unsafe {
        libc::uname(names.as_mut_ptr());
        names.assume_init()
    };
    let text = |field: &[libc::c_char]| {
        // SAFETY: uname ends every field with a NUL, and a zeroed field has one too.
        unsafe { CStr::from_ptr(field.as_ptr()) }.to_string_lossy().into_owned()
    };
    (text(&names.nodename), text(&names.release))
}

/// A pipe: its end to read from, and its end to write to.
pub fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both are new and belong to nobody else.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

/// Wait until one of some files is ready, or for so many milliseconds (-1: for ever): as poll(2) returns.
pub fn poll(files: &mut [libc::pollfd], at_most_ms: libc::c_int) -> libc::c_int {
    // SAFETY: as many entries as the slice has.
    unsafe { libc::poll(files.as_mut_ptr(), files.len() as libc::nfds_t, at_most_ms) }
}

/// Let all that write to an open file append to it.
pub fn append_always(file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) }).map(drop)
}

/// Size of a memory page.
pub fn page_bytes() -> u64 {
    system_number(libc::_SC_PAGESIZE)
}

/// Ask the kernel to forget the clean pages of a file.
pub fn advise_not_needed(file: BorrowedFd<'_>) -> io::Result<()> {
    advise(file, libc::POSIX_FADV_DONTNEED)
}

/// Switch read-ahead off for this open file.
pub fn advise_random(file: BorrowedFd<'_>) -> io::Result<()> {
    advise(file, libc::POSIX_FADV_RANDOM)
}

fn advise(file: BorrowedFd<'_>, advice: libc::c_int) -> io::Result<()> {
    // SAFETY: posix_fadvise takes no pointers.
    let error = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Start write-back of a range; with `wait`, also await what was under way before, and its end. A file system that has
/// nothing of the kind writes back when it likes. Failures must be heeded: fsync does not report them again.
pub fn write_back_range(file: BorrowedFd<'_>, offset_bytes: u64, length_bytes: u64, wait: bool) -> io::Result<()> {
    let waiting = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let flags = libc::SYNC_FILE_RANGE_WRITE | if wait { waiting } else { 0 };
    let (offset, length) = (offset_bytes as libc::off64_t, length_bytes as libc::off64_t);
    // SAFETY: sync_file_range takes no pointers.
    match retried(|| unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) }) {
        Err(error) if !matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::ESPIPE)) => Err(error),
        _ => Ok(()),
    }
}

/// Allocate the first `length_bytes` of a file without writing them.
pub fn allocate(file: BorrowedFd<'_>, length_bytes: u64) -> io::Result<()> {
    // SAFETY: fallocate takes no pointers.
    retried(|| unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length_bytes as libc::off_t) }).map(drop)
}

/// Where the first hole of a file is; its size where there is none. The file's position moves there.
pub fn first_hole(file: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: lseek takes no pointers.
    let found = unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_HOLE) };
    u64::try_from(found).map_err(|_| io::Error::last_os_error())
}

/// What a directory entry is, as far as removal cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file or a symbolic link: a name that `unlink` takes away and nothing else.
    Name,
    /// A directory.
    Directory,
    /// A device, a socket, a pipe.
    Special,
}

impl EntryKind {
    fn of_mode(mode: libc::mode_t) -> Self {
        match mode & libc::S_IFMT {
            libc::S_IFREG | libc::S_IFLNK => Self::Name,
            libc::S_IFDIR => Self::Directory,
            _ => Self::Special,
        }
    }
}

/// An open directory stream.
pub struct Directory {
    stream: std::ptr::NonNull<libc::DIR>,
}

// SAFETY: a DIR may be used from any thread as long as it is one at a time; `next_entry` and `rewind` take `&mut self`,
// and `as_fd` only reads the number of the descriptor.
unsafe impl Send for Directory {}

impl Directory {
    /// Read the entries of an open directory, which the stream then owns.
    pub fn new(directory: OwnedFd) -> io::Result<Self> {
        // SAFETY: the descriptor is open and owned here.
        let stream = unsafe { libc::fdopendir(directory.as_raw_fd()) };
        let stream = std::ptr::NonNull::new(stream).ok_or_else(io::Error::last_os_error)?;
        // The stream owns the descriptor from here on, and closes it in `drop`.
        let _ = directory.into_raw_fd();
        Ok(Self { stream })
    }

    /// The next entry into `name`, without `.` and `..`; `None` at the end.
    pub fn next_entry(&mut self, name: &mut CString) -> io::Result<Option<EntryKind>> {
        loop {
            // SAFETY: errno of this thread; only errno distinguishes the end of readdir from an error.
            unsafe { *libc::__errno_location() = 0 };
            // SAFETY: the stream is open until `drop`.
            let entry = unsafe { libc::readdir(self.stream.as_ptr()) };
            if entry.is_null() {
                let error = io::Error::last_os_error();
                return if error.raw_os_error() == Some(0) { Ok(None) } else { Err(error) };
            }
            // SAFETY: readdir returned an entry that is valid until the next call on this stream; d_name ends in NUL.
            let (found, kind) = unsafe { (CStr::from_ptr((*entry).d_name.as_ptr()), (*entry).d_type) };
            if found.to_bytes() == b"." || found.to_bytes() == b".." {
                continue;
            }
            found.clone_into(name);
            return self.kind(kind, name).map(Some);
        }
    }

    /// Kind of an entry, asked for where the file system does not report it.
    fn kind(&self, reported: u8, name: &CStr) -> io::Result<EntryKind> {
        match reported {
            libc::DT_REG | libc::DT_LNK => Ok(EntryKind::Name),
            libc::DT_DIR => Ok(EntryKind::Directory),
            libc::DT_UNKNOWN => Ok(EntryKind::of_mode(stat_at(self.as_fd(), name)?.st_mode)),
            _ => Ok(EntryKind::Special),
        }
    }

    /// Start again at the first entry.
    pub fn rewind(&mut self) {
        // SAFETY: the stream is open until `drop`.
        unsafe { libc::rewinddir(self.stream.as_ptr()) };
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the stream is open until `drop`, which outlives the borrow.
        unsafe { BorrowedFd::borrow_raw(libc::dirfd(self.stream.as_ptr())) }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // SAFETY: the stream is open and never used again.
        unsafe { libc::closedir(self.stream.as_ptr()) };
    }
}
