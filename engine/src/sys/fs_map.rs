//! What lies where on a device, as its file system reports (ioctl_getfsmap(2), Linux 4.16).

use super::posix;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// One stretch of a device, or one end of what is asked for (`struct fsmap`).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

/// What is asked for, and how much came (`struct fsmap_head`).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Head {
    in_flags: u32,
    out_flags: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    keys: [Stretch; 2],
}

/// A group of ext4 with blocks of 4 KiB has 16,384 free stretches at most, and seldom more than some hundreds.
const ROOM: usize = 20_000;
/// The head has the length of this many stretches; the stretches follow it.
const HEAD: usize = 3;
/// `_IOWR('X', 59, struct fsmap_head)`.
const GETFSMAP: libc::Ioctl = 0xc0c0_583b_u32 as libc::Ioctl;
/// FMR_OF_SPECIAL_OWNER and FMR_OF_LAST.
const SPECIAL: u32 = 0x10;
const LAST: u32 = 0x20;
/// EXT4_FMR_OWN_FS.
const SUPERBLOCK: u64 = (b'X' as u64) << 32 | 1;

/// Where in the first `bytes` of its device an ext4 has its superblocks, in bytes; `None`: there is too much there to know.
///
/// # Errors
///
/// As ioctl(2): ENOTTY where kernel or file system has nothing of the kind.
pub fn superblocks(file: BorrowedFd<'_>, bytes: u64) -> io::Result<Option<Vec<u64>>> {
    let device = device_number(posix::fstat(file)?.st_dev);
    let low = Stretch { device, ..Stretch::default() };
    let (physical, most) = (bytes - 1, u64::MAX);
    let high = Stretch { device, flags: u32::MAX, physical, owner: most, offset: most, ..Stretch::default() };
    let head = Head { count: ROOM as u32, keys: [low, high], ..Head::default() };
    let mut memory = vec![Stretch::default(); HEAD + ROOM];
    let request = memory.as_mut_ptr().cast::<Head>();
    // SAFETY: the memory begins with room for a head, and is aligned as one; the kernel writes `count` stretches behind it at
    // most, for which there is room, and the memory lives through the call.
    let (answer, head) = unsafe {
        request.write(head);
        (libc::ioctl(file.as_raw_fd(), GETFSMAP, request), request.read())
    };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    let reported = &memory[HEAD..HEAD + ROOM.min(head.entries as usize)];
    if reported.len() == ROOM && reported.last().is_some_and(|last| last.flags & LAST == 0) {
        return Ok(None);
    }
    let is_superblock = |stretch: &&Stretch| stretch.flags & SPECIAL != 0 && stretch.owner == SUPERBLOCK;
    Ok(Some(reported.iter().filter(is_superblock).map(|stretch| stretch.physical).collect()))
}

/// As the kernel numbers devices for programs (`new_encode_dev`).
fn device_number(device: libc::dev_t) -> u32 {
    let (major, minor) = (libc::major(device), libc::minor(device));
    minor & 0xff | major << 8 | (minor & !0xff) << 12
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_head_is_as_long_as_its_number_says_and_as_so_many_stretches() {
        assert_eq!(size_of::<Head>(), GETFSMAP as usize >> 16 & 0x3fff);
        assert_eq!(size_of::<Head>(), HEAD * size_of::<Stretch>());
        assert_eq!(align_of::<Head>(), align_of::<Stretch>());
    }
}
