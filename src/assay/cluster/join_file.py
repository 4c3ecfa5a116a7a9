"""The join folder: what a client needs to find the leader of a run and to be let in.

`join.json` has the leader's address and names the two PEM files next to it; the folder as a whole is what a launcher copies
to a machine. It is closed to all but its owner (0700, files 0600): who can read the key can have the clients do anything.

Whoever joins reads what may have been written by others: with limits, and without following a link.
"""

import contextlib
import fcntl
import ipaddress
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

import msgspec

from assay import __version__
from assay.bundle.inside import is_plain
from assay.bundle.strict_json import decode
from assay.closing import close
from assay.cluster.addresses import is_loopback
from assay.cluster.keys import RunKeys
from assay.errors import InputError, RunError, reason_of

JOIN: Final = "join.json"
CERTIFICATE: Final = "run.crt.pem"
KEY: Final = "run.key.pem"
SCHEMA: Final = "assay.join/1"
_MOST_BYTES = 64 << 10
_LONGEST_TEXT = 200
_ADDRESS = re.compile(r"(tls|tcp)://(?:\[([0-9a-fA-F:]+)\]|([0-9.]+)):([0-9]{1,5})", re.ASCII)
_FOR_OTHERS = 0o077
FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class JoinFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file. Raises ValueError for what is none."""

    schema: str = SCHEMA
    address: str
    """Of the leader: `tls://IP:PORT`, or `tcp://` on loopback alone."""
    certificate: str | None
    """Name of the PEM file next to this one; None without encryption, as `key`."""
    key: str | None
    assay_version: str
    token: str
    """What client and leader show each other, so that each can check the other; without encryption that is all there is."""

    def __post_init__(self) -> None:
        """Check the limits, since any user may have written it."""
        if self.schema != SCHEMA:
            raise ValueError(f"the schema is {self.schema[:_LONGEST_TEXT]!r}, and this Assay reads {SCHEMA}")
        for text in (self.address, self.assay_version, self.token):
            if len(text) > _LONGEST_TEXT:
                raise ValueError("a text is too long")
        protocol, host, port = _parts(self.address)
        if not 0 < port < 1 << 16:
            raise ValueError(f"no valid port {port}")
        files = (self.certificate, self.key)
        if protocol == "tls" and not all(name is not None and is_plain(name) for name in files):
            raise ValueError("it names no files of a certificate and a key next to it")
        if protocol == "tcp" and (any(files) or not is_loopback(host)):
            raise ValueError("without encryption only clients on the leader's own machine can join")

    @property
    def is_encrypted(self) -> bool:
        """Whether connections are."""
        return self.key is not None

    @property
    def leader(self) -> tuple[str, int]:
        """The leader's IP address and port."""
        _, host, port = _parts(self.address)
        return host, port


def _parts(address: str) -> tuple[str, str, int]:
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise ValueError(f"'{address[:_LONGEST_TEXT]}' is not an address of a leader")
    protocol, ipv6, ipv4, port = match.groups()
    return protocol, str(ipaddress.ip_address(ipv6 or ipv4)), int(port)


def new_join(address: str, *, is_encrypted: bool) -> JoinFile:
    """Make the join file of a leader that listens there."""
    return JoinFile(
        address=address,
        certificate=CERTIFICATE if is_encrypted else None,
        key=KEY if is_encrypted else None,
        assay_version=__version__,
        token=secrets.token_hex(16),
    )


class JoinFolder:
    """A join folder as its leader makes it, and takes it away.

    It is opened once, and all is done from there: whatever others put in its place is not written to. A lock on it
    (flock(2)) shows that its leader lives, and goes with the leader, however that ends.
    """

    def __init__(self, folder: Path) -> None:
        """Take or make a folder.

        Raises:
            InputError: it is a link, belongs to another user, or is open to others.
            RunError: it cannot be made.
        """
        self._path = folder
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                self._is_made = True
        except OSError as error:
            raise RunError(f"{folder}: cannot be made: {reason_of(error)}. Nothing was started") from error
        try:
            self._place: int | None = os.open(folder, FOLDER_FLAGS)
        except OSError as error:
            raise InputError(
                f"{folder} is not a directory ({reason_of(error)}); name a folder of your own for the key of the run"
            ) from error
        facts = os.fstat(self._place)
        if facts.st_uid != os.geteuid() or facts.st_mode & _FOR_OTHERS:
            close(self._place)
            raise InputError(f"{folder} is open to others, and the key of the run is stored there: chmod 700 it")
        with contextlib.suppress(OSError):  # of another leader that lives, or a file system without locks
            fcntl.flock(self._place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._files: list[str] = []

    _is_made = False

    def write_keys(self, keys: RunKeys) -> tuple[Path, Path]:
        """Write certificate and key and give their paths; raises RunError."""
        return self._write(CERTIFICATE, keys.certificate), self._write(KEY, keys.key)

    def write_join(self, join: JoinFile) -> None:
        """Write `join.json`, last of all: who sees it can join; raises RunError."""
        self._write(JOIN, msgspec.json.format(msgspec.json.encode(join), indent=2) + b"\n")

    def _write(self, name: str, data: bytes) -> Path:
        path, temporary = self._path / name, f"{name}.part"
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=self._place)
            descriptor = os.open(temporary, _NEW, 0o600, dir_fd=self._place)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, name, src_dir_fd=self._place, dst_dir_fd=self._place)
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {reason_of(error)}. Nothing was started") from error
        self._files.append(name)
        return path

    def remove(self) -> None:
        """Remove what was written here, and the folder if it was made here; never raises."""
        if self._place is None:
            return
        for name in self._files:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._place)
        self._files.clear()
        if self._is_made:
            with contextlib.suppress(OSError):
                self._path.rmdir()
        close(self._place)
        self._place = None


def read_join(path: Path) -> tuple[JoinFile, Path]:
    """Read a join file, named itself or by its folder, and check the PEMs next to it; gives the folder, too.

    Raises:
        FileNotFoundError: it is not there.
        InputError: it is not a join file, or it belongs to another user or is open to others.
    """
    path = path / JOIN if path.is_dir() else path
    try:
        join = decode(_read(path), JoinFile)
    except ValueError as error:
        raise InputError(f"{path}: is not a join file of assay ({error})") from error
    for name in (join.certificate, join.key):
        if name is not None:
            _read(path.parent / name)
    return join, path.parent


def _read(path: Path) -> bytes:
    try:
        descriptor = os.open(path, _READ)
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                raise InputError(f"{path} is not a regular file; name the join.json of a run")
            if facts.st_uid not in {os.geteuid(), 0}:
                raise InputError(
                    f"{path} belongs to another user, who could control this client; copy the folder first"
                )
            if facts.st_mode & _FOR_OTHERS:
                raise InputError(f"{path} is open to others, who could control this client: chmod 600 it")
            data = os.read(descriptor, _MOST_BYTES + 1)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason_of(error)}; a link is not followed") from error
    if len(data) > _MOST_BYTES:
        raise InputError(f"{path} has more than {_MOST_BYTES >> 10} KiB; that is no file of a join folder")
    return data
