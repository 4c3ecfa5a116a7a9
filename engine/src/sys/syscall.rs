//! The calls that most loads are made of, straight to the kernel.
//!
//! The C library's wrappers are points where a thread may be cancelled, which costs some forty instructions a call in a
//! program with threads. Workers are never cancelled.

use std::ffi::CStr;
use std::os::fd::RawFd;

/// Read at an offset; bytes or a negative errno.
///
/// # Safety
///
/// `address` points to `length` writable bytes.
#[inline]
pub unsafe fn pread(fd: RawFd, address: *mut u8, length: usize, offset: u64) -> i64 {
    // SAFETY: as promised by the caller.
    unsafe { call(libc::SYS_pread64, [fd as usize, address as usize, length, offset as usize]) }
}

/// Write at an offset; bytes or a negative errno.
///
/// # Safety
///
/// `address` points to `length` readable bytes.
#[inline]
pub unsafe fn pwrite(fd: RawFd, address: *mut u8, length: usize, offset: u64) -> i64 {
    // SAFETY: as promised by the caller.
    unsafe { call(libc::SYS_pwrite64, [fd as usize, address as usize, length, offset as usize]) }
}

/// Open a file, relative to an open directory or the working one: a descriptor or a negative errno.
#[inline]
pub fn openat(folder: RawFd, path: &CStr, flags: i32, mode: libc::mode_t) -> i64 {
    let arguments = [folder as usize, path.as_ptr() as usize, flags as usize, mode as usize];
    // SAFETY: the path is NUL-terminated and lives through the call.
    unsafe { call(libc::SYS_openat, arguments) }
}

/// Open a file likewise, with rules (`RESOLVE_...`) for the way to it: a descriptor or a negative errno.
#[inline]
pub fn openat2(folder: RawFd, path: &CStr, flags: u64, mode: u64, resolve: u64) -> i64 {
    // `struct open_how`, which libc lets nobody make.
    let how = [flags, mode, resolve];
    let arguments = [folder as usize, path.as_ptr() as usize, how.as_ptr() as usize, std::mem::size_of_val(&how)];
    // SAFETY: the path is NUL-terminated; it and `how`, whose size is given, live through the call.
    unsafe { call(libc::SYS_openat2, arguments) }
}

/// Close a file: 0 or a negative errno. The caller took the descriptor out of the one place that held it.
#[inline]
pub fn close(fd: RawFd) -> i64 {
    // SAFETY: no memory is passed.
    unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0]) }
}

/// Read at the file's position; bytes or a negative errno.
///
/// # Safety
///
/// `address` points to `length` writable bytes.
#[inline]
pub unsafe fn read(fd: RawFd, address: *mut u8, length: usize) -> i64 {
    // SAFETY: as promised by the caller; the kernel looks at three arguments.
    unsafe { call(libc::SYS_read, [fd as usize, address as usize, length, 0]) }
}

/// Write at the file's position; bytes or a negative errno.
///
/// # Safety
///
/// `address` points to `length` readable bytes.
#[inline]
pub unsafe fn write(fd: RawFd, address: *mut u8, length: usize) -> i64 {
    // SAFETY: as promised by the caller; the kernel looks at three arguments.
    unsafe { call(libc::SYS_write, [fd as usize, address as usize, length, 0]) }
}

/// Set the file's position: it, or a negative errno.
#[inline]
pub fn seek(fd: RawFd, offset: u64) -> i64 {
    // SAFETY: no memory is passed.
    unsafe { call(libc::SYS_lseek, [fd as usize, offset as usize, libc::SEEK_SET as usize, 0]) }
}

/// The number of the parent: the least that a call can be.
pub fn parent() -> i64 {
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_getppid) }
}

/// # Safety
///
/// The call's own.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn call(number: libc::c_long, arguments: [usize; 4]) -> i64 {
    let mut result = number;
    // SAFETY: the kernel's calling convention on this architecture: it changes rax, rcx and r11 alone.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// # Safety
///
/// The call's own.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
unsafe fn call(number: libc::c_long, arguments: [usize; 4]) -> i64 {
    // SAFETY: as promised by the caller.
    let result = unsafe { libc::syscall(number, arguments[0], arguments[1], arguments[2], arguments[3]) };
    if result < 0 {
        return -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO));
    }
    result
}
