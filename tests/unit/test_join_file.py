"""The join folder: closed to others, read with limits, gone when the run is over."""

import os
import ssl
import stat
from pathlib import Path

import msgspec
import pytest

from assay.cluster.join_file import CERTIFICATE, JOIN, KEY, JoinFolder, new_join, read_join
from assay.cluster.keys import make_keys
from assay.errors import InputError

ADDRESS = "tls://192.0.2.1:4711"


def laid_out(folder: Path) -> JoinFolder:
    made = JoinFolder(folder)
    made.write_keys(make_keys())
    made.write_join(new_join(ADDRESS, is_encrypted=True))
    return made


def changed(folder: Path, **changes: object) -> None:
    path = folder / JOIN
    document = msgspec.json.decode(path.read_bytes()) | changes
    path.write_bytes(msgspec.json.encode(document))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    laid_out(tmp_path / "join")

    by_folder, by_file = read_join(tmp_path / "join"), read_join(tmp_path / "join" / JOIN)

    assert by_folder == by_file
    assert by_file[0].leader == ("192.0.2.1", 4711)
    assert by_file[0].is_encrypted
    assert by_file[1] == tmp_path / "join"


def test_everything_is_closed_to_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        laid_out(tmp_path / "join")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "join").stat().st_mode) == 0o700
    modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in (tmp_path / "join").iterdir()}
    assert modes == dict.fromkeys((JOIN, CERTIFICATE, KEY), "0o600")


def test_nothing_is_left_but_what_was_there_before(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    other.mkdir(mode=0o700)
    (other / "note").write_text("mine")

    for folder in (own, other):
        laid_out(folder).remove()

    assert not own.exists()
    assert [path.name for path in other.iterdir()] == ["note"]


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "join").mkdir(mode=0o755)

    with pytest.raises(InputError, match="chmod 700"):
        JoinFolder(tmp_path / "join")


def test_a_link_is_no_join_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "join").symlink_to("real")

    with pytest.raises(InputError, match="is not a directory"):
        JoinFolder(tmp_path / "join")


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "join").mkdir(mode=0o700)
    (tmp_path / "mine").write_text("mine")
    for name in (JOIN, KEY, f"{KEY}.part"):
        (tmp_path / "join" / name).symlink_to(tmp_path / "mine")

    laid_out(tmp_path / "join")

    assert (tmp_path / "mine").read_text() == "mine"
    assert read_join(tmp_path / "join")[0].address == ADDRESS


@pytest.mark.parametrize("name", [JOIN, CERTIFICATE, KEY])
def test_a_link_is_not_read(tmp_path: Path, name: str) -> None:
    laid_out(tmp_path / "join")
    path = tmp_path / "join" / name
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InputError, match="a link is not followed"):
        read_join(tmp_path / "join" / JOIN)


@pytest.mark.parametrize("name", [JOIN, CERTIFICATE, KEY])
def test_what_others_can_read_is_refused(tmp_path: Path, name: str) -> None:
    laid_out(tmp_path / "join")
    (tmp_path / "join" / name).chmod(0o640)

    with pytest.raises(InputError, match="open to others"):
        read_join(tmp_path / "join")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"schema": "assay.join/9"}, "assay.join/1"),
        ({"address": "tls://leader.example:4711"}, "not an address"),
        ({"address": "tls://1.2.3.4.5:4711"}, ""),
        ({"address": "tls://192.0.2.1:70000"}, "no valid port"),
        ({"address": "tls://192.0.2.1:0"}, "no valid port"),
        ({"address": "inproc://192.0.2.1:1"}, "not an address"),
        ({"address": "tls://" + "1" * 1000}, "too long"),
        ({"address": "tcp://192.0.2.1:4711"}, "without encryption"),
        ({"address": "tcp://192.0.2.1:4711", "key": None, "certificate": None}, "without encryption"),
        ({"key": None}, "no files"),
        ({"key": "../../etc/shadow"}, "no files"),
        ({"certificate": "/etc/passwd"}, "no files"),
        ({"token": "x" * 1000}, "too long"),
        ({"token": 7}, "token"),
    ],
)
def test_what_is_no_join_file_is_refused_in_words(tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    laid_out(tmp_path / "join")
    changed(tmp_path / "join", **changes)

    with pytest.raises(InputError, match=f"not a join file of assay .*{reason}"):
        read_join(tmp_path / "join")


def test_what_never_ends_is_not_read_to_its_end(tmp_path: Path) -> None:
    laid_out(tmp_path / "join")
    (tmp_path / "join" / JOIN).write_bytes(b" " * (1 << 20))

    with pytest.raises(InputError, match="64 KiB"):
        read_join(tmp_path / "join")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / JOIN, 0o600)

    with pytest.raises(InputError, match="not a regular file"):
        read_join(tmp_path / JOIN)


def test_without_encryption_only_loopback_can_be_meant() -> None:
    assert new_join("tcp://127.0.0.1:1", is_encrypted=False).leader == ("127.0.0.1", 1)
    assert new_join("tcp://[::1]:1", is_encrypted=False).leader == ("::1", 1)
    with pytest.raises(ValueError, match="leader's own machine"):
        new_join("tcp://192.0.2.1:1", is_encrypted=False)


def test_each_run_has_a_key_of_its_own_that_fits_its_certificate(tmp_path: Path) -> None:
    first, second = make_keys(), make_keys()

    for name, keys in (("first", first), ("second", second)):
        (tmp_path / name).write_bytes(keys.certificate + keys.key)
        ssl.create_default_context().load_cert_chain(tmp_path / name)  # raises where they do not fit
    (tmp_path / "mixed").write_bytes(first.certificate + second.key)
    with pytest.raises(ssl.SSLError):
        ssl.create_default_context().load_cert_chain(tmp_path / "mixed")
    assert "PRIVATE" not in repr(first)
