"""One machine needs nothing of what many clients need."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.cluster.addresses import interfaces, is_loopback, own_address, towards
from assay.errors import InputError

WITHOUT = """
import sys
sys.modules["{missing}"] = None
sys.argv = ["assay", "worker", "--join", "{join}"]
from assay.cli import main
main()
"""
LOADED = """
import sys
sys.argv = ["assay", "--help"]
from assay.cli import main
try:
    main()
finally:
    print(sorted({"dask", "distributed", "tornado", "cryptography", "asyncio"} & set(sys.modules)))
"""


def python(text: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("missing", ["distributed", "dask"])
def test_without_the_extra_a_client_says_in_one_line_what_to_install(tmp_path: Path, missing: str) -> None:
    done = python(WITHOUT.format(missing=missing, join=tmp_path))

    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "pip install 'assay[cluster]'" in done.stderr


def test_nothing_of_it_is_loaded_for_other_commands() -> None:
    done = python(LOADED)

    assert done.stdout.splitlines()[-1] == "[]"


def test_an_address_is_one_of_this_machine_or_of_an_interface() -> None:
    assert own_address("192.0.2.9") == "192.0.2.9"
    assert own_address("2001:db8::1") == "2001:db8::1"
    assert own_address("lo") == "127.0.0.1"
    assert interfaces()["lo"] == "127.0.0.1"


@pytest.mark.parametrize("named", ["0.0.0.0", "::", "224.0.0.1", "no-such-if", ""])  # noqa: S104 - what is refused
def test_what_stands_for_all_addresses_or_for_none_is_refused(named: str) -> None:
    with pytest.raises(InputError):
        own_address(named)


def test_the_way_to_loopback_begins_at_loopback() -> None:
    assert towards("127.0.0.1", 9) == "127.0.0.1"
    assert is_loopback(towards("127.0.0.9", 9))
