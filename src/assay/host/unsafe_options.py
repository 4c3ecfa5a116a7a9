"""Mount options that make storage faster by promising less: what a power failure or a crash can then take.

Sources: the kernel's own documentation of each file system (Documentation/filesystems, Documentation/admin-guide), xfs(5),
btrfs(5), mount.cifs(8). A write cache without flushes is a fact of the device, not of a mount; neither an NFS export with
`async` nor ZFS with `sync=disabled` can be seen in a client's or file system's mount options.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from assay.host.storage import StoragePath

_NO_FLUSH: Final = "flushes do not reach the device, so a power failure can take what fsync promised"
_STALE: Final = "after a crash, files can hold what was in their blocks before"
_NO_SYNC: Final = "fsync returns without writing"

_UNSAFE: Final[Mapping[str, tuple[tuple[frozenset[str], str], ...]]] = {
    "ext3": ((frozenset({"nobarrier", "barrier=0"}), _NO_FLUSH), (frozenset({"data=writeback"}), _STALE)),
    "ext4": ((frozenset({"nobarrier", "barrier=0"}), _NO_FLUSH), (frozenset({"data=writeback"}), _STALE)),
    "reiserfs": ((frozenset({"barrier=none"}), _NO_FLUSH), (frozenset({"data=writeback"}), _STALE)),
    "ocfs2": ((frozenset({"barrier=0"}), _NO_FLUSH), (frozenset({"data=writeback"}), _STALE)),
    "xfs": ((frozenset({"nobarrier"}), _NO_FLUSH),),
    "btrfs": ((frozenset({"nobarrier"}), _NO_FLUSH),),
    "f2fs": ((frozenset({"nobarrier", "fsync_mode=nobarrier"}), _NO_FLUSH),),
    "nilfs2": ((frozenset({"nobarrier"}), _NO_FLUSH),),
    "gfs2": ((frozenset({"nobarrier"}), _NO_FLUSH), (frozenset({"data=writeback"}), _STALE)),
    "hfsplus": ((frozenset({"nobarrier"}), _NO_FLUSH),),
    "jfs": ((frozenset({"nointegrity"}), "the journal is not written, so a crash can take the whole file system"),),
    "bcachefs": ((frozenset({"journal_flush_disabled"}), _NO_SYNC),),
    "overlay": ((frozenset({"volatile", "fsync=volatile"}), _NO_SYNC),),
    "cifs": ((frozenset({"nostrictsync"}), "fsync does not reach the server's storage"),),
    "smb3": ((frozenset({"nostrictsync"}), "fsync does not reach the server's storage"),),
}


def unsafe_options(path: StoragePath) -> Iterator[tuple[str, str]]:
    """Give each unsafe option of a directory's file system and of those below it, as the kernel lists it, with its risk.

    Args:
        path: The way from the directory to its storage.
    """
    has = (*path.options, *path.super_options)
    for options, risk in _UNSAFE.get(path.fs_type, ()):
        for option in has:
            if option in options:
                yield f"{path.mount_point} ({path.fs_type}) is mounted with {option}", risk
    for below in (path.upper, *path.backing.values()):
        if below is not None:
            yield from unsafe_options(below)
