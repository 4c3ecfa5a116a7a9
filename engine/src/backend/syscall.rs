//! pread(2), pwrite(2), read(2) and write(2) straight to the kernel.
//!
//! The C library's wrappers are points where a thread may be cancelled, which costs some forty instructions a call in a
//! program with threads. Workers are never cancelled.

use std::os::fd::RawFd;

/// Read at an offset; bytes or a negative errno.
///
/// # Safety
///
/// `address` points to `length` writable bytes.
#[inline]
pub unsafe fn pread(fd: RawFd, address: *mut u8, length: usize, offset: u64) -> i64 {
    // SAFETY: as promised by the caller.
    unsafe { call(libc::SYS_pread64, fd, address, length, offset) }
}

/// Write at an offset; bytes or a negative errno.
///
/// # Safety
///
/// `address` points to `length` readable bytes.
#[inline]
pub unsafe fn pwrite(fd: RawFd, address: *mut u8, length: usize, offset: u64) -> i64 {
    // SAFETY: as promised by the caller.
    unsafe { call(libc::SYS_pwrite64, fd, address, length, offset) }
}

/// Read at the file's position; bytes or a negative errno.
///
/// # Safety
///
/// `address` points to `length` writable bytes.
#[inline]
pub unsafe fn read(fd: RawFd, address: *mut u8, length: usize) -> i64 {
    // SAFETY: as promised by the caller; the kernel looks at three arguments.
    unsafe { call(libc::SYS_read, fd, address, length, 0) }
}

/// Write at the file's position; bytes or a negative errno.
///
/// # Safety
///
/// `address` points to `length` readable bytes.
#[inline]
pub unsafe fn write(fd: RawFd, address: *mut u8, length: usize) -> i64 {
    // SAFETY: as promised by the caller; the kernel looks at three arguments.
    unsafe { call(libc::SYS_write, fd, address, length, 0) }
}

/// # Safety
///
/// The call's own.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn call(number: libc::c_long, fd: RawFd, address: *mut u8, length: usize, offset: u64) -> i64 {
    let mut result = number;
    // SAFETY: the kernel's calling convention on this architecture: it changes rax, rcx and r11 alone.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") result,
            in("rdi") i64::from(fd),
            in("rsi") address,
            in("rdx") length,
            in("r10") offset,
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
unsafe fn call(number: libc::c_long, fd: RawFd, address: *mut u8, length: usize, offset: u64) -> i64 {
    // SAFETY: as promised by the caller.
    let result = unsafe { libc::syscall(number, fd, address, length, offset) };
    if result < 0 {
        return -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO));
    }
    result
}
