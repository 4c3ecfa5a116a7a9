"""What a user names as a text is read within bounds, and what never ends is not begun."""

import os
import socket
from pathlib import Path

import pytest

from assay.errors import InputError
from assay.input_text import MOST_BYTES, read_text


def test_a_text_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("größe = 1\r\n".encode())
    (tmp_path / "link").symlink_to(path)

    assert read_text(str(path), "load file") == read_text(str(tmp_path / "link"), "load file") == "größe = 1\r\n"


def test_the_largest_text_is_read_and_a_larger_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"#" * MOST_BYTES)
    assert len(read_text(str(path), "load file")) == MOST_BYTES

    path.write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(InputError, match="has more than 4 MiB; that is no load file"):
        read_text(str(path), "load file")


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path, said in (
            ("pipe", "is a named pipe; a load file is a regular file"),
            ("/dev/zero", "is a device"),
            (".", "is a directory"),
            ("socket", "cannot read the load file"),
        ):
            with pytest.raises(InputError, match=said):
                read_text(str(tmp_path / path), "load file")


def test_a_pipe_that_was_handed_on_is_read_to_its_end() -> None:
    reader, writer = os.pipe()
    try:
        os.write(writer, b"name = 1\n")
        os.close(writer)

        assert read_text(f"/dev/fd/{reader}", "load file") == "name = 1\n"
    finally:
        os.close(reader)


def test_bytes_that_are_no_text_and_files_that_are_not_there_are_said(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"ab\xff")

    with pytest.raises(InputError, match="is not UTF-8 text at byte 2"):
        read_text(str(tmp_path / "bytes"), "file of commands")
    with pytest.raises(FileNotFoundError):
        read_text(str(tmp_path / "absent"), "file of commands")


def test_a_name_with_a_zero_byte_is_refused() -> None:
    with pytest.raises(InputError, match="zero byte"):
        read_text("load\0file", "load file")
