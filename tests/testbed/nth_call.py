"""Fails the n-th system call that touches some folders, in whatever process or thread it is made: a program.

    python nth_call.py N ROUND REPORT FOLDER... -- COMMAND...

Runs the command with its streams; the N-th call that touches one of the folders, or anything in them, is not carried out and
returns an error, that of the ROUND, from 0, among those which such a call can return (`errors_of`); N = 0: none is. REPORT
gets a line, name and path, for each call that touched them; line N is the one that failed, and has the error, too. Exits as
the command does (128 + signal, where one ended it).

strace(1) can fail calls, too, but it counts for each thread on its own, and its `-P` knows whole paths only, not what is
below a folder: names of runs have chance in them, and nobody could say that all calls had been tried. Here the kernel asks
this program about each call of `TABLE` before it is carried out (seccomp_unotify(2)), and calls wait for the answer: they
are counted one by one, over all threads and processes, and a run in which fewer than N were made shows that all were tried.
Needs Linux 5.6 and x86-64, and no privilege.
"""

import ctypes
import errno
import fcntl
import os
import re
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

INJECTOR: Final = Path(__file__)
AT_FDCWD: Final = -100
Names = tuple[tuple[str, int], ...]
"""What a call names, and in which of its arguments: a descriptor (`fd`), a path (`path`), or a path (`at`) that begins at
the descriptor one argument before."""

_FD: Final[Names] = (("fd", 0),)
_PATH: Final[Names] = (("path", 0),)
_AT: Final[Names] = (("at", 1),)
TABLE: Final[Mapping[str, tuple[int, Names]]] = {
    "read": (0, _FD),
    "write": (1, _FD),
    "open": (2, _PATH),
    "close": (3, _FD),
    "stat": (4, _PATH),
    "fstat": (5, _FD),
    "lstat": (6, _PATH),
    "lseek": (8, _FD),
    "mmap": (9, (("fd", 4),)),
    "ioctl": (16, _FD),
    "pread64": (17, _FD),
    "pwrite64": (18, _FD),
    "readv": (19, _FD),
    "writev": (20, _FD),
    "access": (21, _PATH),
    "fcntl": (72, _FD),
    "flock": (73, _FD),
    "fsync": (74, _FD),
    "fdatasync": (75, _FD),
    "truncate": (76, _PATH),
    "ftruncate": (77, _FD),
    "chdir": (80, _PATH),
    "fchdir": (81, _FD),
    "rename": (82, (("path", 0), ("path", 1))),
    "mkdir": (83, _PATH),
    "rmdir": (84, _PATH),
    "link": (86, (("path", 0), ("path", 1))),
    "unlink": (87, _PATH),
    "symlink": (88, (("path", 1),)),
    "readlink": (89, _PATH),
    "chmod": (90, _PATH),
    "fchmod": (91, _FD),
    "statfs": (137, _PATH),
    "fstatfs": (138, _FD),
    "getdents64": (217, _FD),
    "fadvise64": (221, _FD),
    "openat": (257, _AT),
    "mkdirat": (258, _AT),
    "newfstatat": (262, _AT),
    "unlinkat": (263, _AT),
    "renameat": (264, (("at", 1), ("at", 3))),
    "linkat": (265, (("at", 1), ("at", 3))),
    "readlinkat": (267, _AT),
    "fchmodat": (268, _AT),
    "faccessat": (269, _AT),
    "sync_file_range": (277, _FD),
    "fallocate": (285, _FD),
    "preadv": (295, _FD),
    "pwritev": (296, _FD),
    "syncfs": (306, _FD),
    "renameat2": (316, (("at", 1), ("at", 3))),
    "statx": (332, _AT),
    "io_uring_enter": (426, (("ring", 0),)),
    "openat2": (437, _AT),
    "faccessat2": (439, _AT),
}
"""Numbers are those of x86-64 (arch/x86/entry/syscalls/syscall_64.tbl). A ring touches what its requests do: always."""

_LOOKS: Final = ("EIO", "ENOMEM")
_NAMES_MADE: Final = ("ENOSPC", "EIO", "EROFS", "EDQUOT", "ENOMEM")
_NAMES_TAKEN: Final = ("EROFS", "EIO", "ENOMEM")
_READS: Final = (*_LOOKS, "EINTR")
_WRITES: Final = ("ENOSPC", "EIO", "EDQUOT", "ENOMEM", "EINTR")
_ERRORS: Final = {
    **dict.fromkeys(("open", "openat", "openat2"), (*_NAMES_MADE, "EINTR")),
    **dict.fromkeys(("mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat", "symlink"), _NAMES_MADE),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir", "chmod", "fchmod", "fchmodat"), _NAMES_TAKEN),
    **dict.fromkeys(
        ("write", "writev", "pwrite64", "pwritev", "fsync", "fdatasync", "sync_file_range", "syncfs"), _WRITES
    ),
    **dict.fromkeys(("ftruncate", "truncate", "fallocate"), (*_WRITES, "EROFS")),
    **dict.fromkeys(("read", "readv", "pread64", "preadv", "statfs", "fstatfs", "flock", "io_uring_enter"), _READS),
    "close": ("EIO", "ENOSPC", "EDQUOT", "EINTR"),
}


def errors_of(call: str) -> tuple[str, ...]:
    """Which of ENOSPC, EIO, EROFS, EDQUOT, ENOMEM and EINTR a call can return: by its manual page, on some file system."""
    return _ERRORS.get(call, _LOOKS)


def error_of(call: str, nth: int, in_round: int) -> str:
    """Which of them the n-th call returns in a round: each n begins with another one."""
    errors = errors_of(call)
    return errors[(nth + in_round) % len(errors)]


_NAMES: Final = {number: (name, named) for name, (number, named) in TABLE.items()}

# linux/seccomp.h, linux/filter.h, linux/audit.h
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_SYS_SECCOMP = 317
_SYS_PIDFD_GETFD = 438
_ARCH_X86_64 = 0xC000003E
_USER_NOTIF, _ALLOW = 0x7FC00000, 0x7FFF0000
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NO_NEW_PRIVS = 38
_PATH_BYTES = 4096


def _install() -> int:
    """Have the kernel ask about the calls of this process and of all that it starts; give the descriptor that it asks on."""
    numbers = sorted(number for number, _ in TABLE.values())
    code = [(_LOAD, 0, 0, 4), (_IF_EQUAL, 1, 0, _ARCH_X86_64), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 0)]
    code += [(_IF_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    code += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _USER_NOTIF)]
    filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(filters)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    listener = libc.syscall(_SYS_SECCOMP, _SET_MODE_FILTER, _NEW_LISTENER, program)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return int(listener)


@dataclass
class Failing:
    """Counts the calls that touch folders, and fails one of them."""

    nth: int
    in_round: int
    folders: Sequence[str]
    calls: list[str] = field(default_factory=list)
    """Name and path of each that touched them."""
    _buffer: bytearray = field(default_factory=lambda: bytearray(_NOTIFICATION.size))

    def serve(self, listener: int, wait_s: float | None = None) -> bool:
        """Answer until nobody is left who could ask; False: somebody was after so long."""
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        end_s = None if wait_s is None else time.monotonic() + wait_s
        while True:
            left_ms = None if end_s is None else 1e3 * max(0.0, end_s - time.monotonic())
            found = poll.poll(left_ms)
            if not found:
                return False
            if not found[0][1] & select.POLLIN:
                os.close(listener)
                return True
            self._answer(listener)

    def _answer(self, listener: int) -> None:
        self._buffer[:] = bytes(_NOTIFICATION.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, self._buffer)
        except (FileNotFoundError, InterruptedError):
            return  # who asked was killed meanwhile
        number, task, _, call, _, _, *arguments = _NOTIFICATION.unpack(self._buffer)
        error, flags = 0, _CONTINUE
        path = self._touched(task, call, arguments)
        if path is not None:
            name, failure = _NAMES[call][0], ""
            if len(self.calls) + 1 == self.nth:
                failure = error_of(name, self.nth, self.in_round)
                error, flags = -getattr(errno, failure), 0
            self.calls.append(f"{name} {path} {failure}")
        try:
            fcntl.ioctl(listener, _SEND, _ANSWER.pack(number, 0, error, flags))
        except FileNotFoundError:
            return

    def _touched(self, task: int, call: int, arguments: Sequence[int]) -> str | None:
        """Give the path that a call names in one of the folders; None where it names none."""
        for kind, place in _NAMES[call][1]:
            try:
                path = _named(task, kind, place, arguments)
            except OSError:
                continue  # no such descriptor, or a path that is none: the call itself says so
            if any(path == folder or path.startswith(f"{folder}/") for folder in self.folders) or kind == "ring":
                return path
        return None


_THROUGH = re.compile(r"/proc/self/fd/([0-9]{1,9})(/.*|$)", re.DOTALL)
"""A way through an open folder."""


def _named(task: int, kind: str, place: int, arguments: Sequence[int]) -> str:
    if kind in {"fd", "ring"}:
        return _descriptor(task, arguments[place])
    name = _text(task, arguments[place])
    if through := _THROUGH.match(name):
        return os.path.normpath(f"{_descriptor(task, int(through[1]))}{through[2]}")
    begin = arguments[place - 1] if kind == "at" else AT_FDCWD
    if name.startswith("/"):
        return os.path.normpath(name)
    folder = _descriptor(task, begin)
    return os.path.normpath(f"{folder}/{name}") if name else folder


def _descriptor(task: int, argument: int) -> str:
    number = ctypes.c_int(argument & 0xFFFFFFFF).value
    place = f"/proc/{task}/cwd" if number == AT_FDCWD else f"/proc/{task}/fd/{number}"
    return os.readlink(place)  # noqa: PTH115 - once a call


def _text(task: int, address: int) -> str:
    with open(f"/proc/{task}/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - once a call
        memory.seek(address)
        # Not across the end of a page, behind which there may be none.
        text = memory.read(min(_PATH_BYTES, 4096 - address % 4096))
        if b"\0" not in text:
            text += memory.read(_PATH_BYTES)
    return os.fsdecode(text.partition(b"\0")[0])


def start(body: Callable[[], object]) -> tuple[int, int]:
    """Have a new process do something, which ends it; give the process and the descriptor that the kernel asks on."""
    ours, its = socket.socketpair()
    process = os.fork()
    if process == 0:
        try:
            ours.close()
            # The next descriptor will have this number. Nothing can be said later: each call waits for an answer then.
            number = os.dup(its.fileno())
            os.close(number)
            its.send(struct.pack("i", number))
            listener = _install()
            os.close(listener)
            its.close()
            body()
        finally:
            os._exit(COULD_NOT_START)
    its.close()
    (number,) = struct.unpack("i", ours.recv(4))
    ours.close()
    while not _is_listening(process, number):
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            raise RuntimeError("this kernel asks nobody about calls (seccomp_unotify)")
        time.sleep(0.0005)
    return process, _descriptor_of(process, number)


def _is_listening(process: int, number: int) -> bool:
    try:
        return os.readlink(f"/proc/{process}/fd/{number}") == "anon_inode:seccomp notify"  # noqa: PTH115 - no path
    except FileNotFoundError:  # not there yet
        return False


def _descriptor_of(process: int, number: int) -> int:
    """Take a descriptor over from a child (pidfd_getfd(2))."""
    pidfd = os.pidfd_open(process)
    try:
        taken = ctypes.CDLL(None, use_errno=True).syscall(_SYS_PIDFD_GETFD, pidfd, number, 0)
    finally:
        os.close(pidfd)
    if taken < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return int(taken)


COULD_NOT_START: Final = 126


def main() -> None:
    """Run a command with one of its calls failing."""
    nth, in_round, report, *rest = sys.argv[1:]
    folders, command = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
    process, listener = start(lambda: os.execvp(command[0], command))  # noqa: S606 - what it is for
    # Whoever stops this program means the command.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: os.kill(process, got))
    failing = Failing(nth=int(nth), in_round=int(in_round), folders=folders)
    failing.serve(listener)
    _, status = os.waitpid(process, 0)
    Path(report).write_text("".join(f"{call}\n" for call in failing.calls))
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
