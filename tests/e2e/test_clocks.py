"""Clocks of several machines: an echo whose clock is ahead by a known time, ways held up one way, strangers, one start.

The truth is a time namespace's offset, exact to the nanosecond, or 0 on one machine: with 0 alone an estimator that is
broken and says 0 would pass.
"""

import hashlib
import hmac
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from assay.clocks import ClockReading, reading
from assay.cluster.echo import EXCHANGES, Echo, ask
from assay.errors import RunError
from assay.running.engine import find_engine
from bench.start_skew import Starting
from suite.outcomes import Disturbed
from testbed.host import need_root, wait_until
from testbed.link import link
from testbed.time_namespace import ahead_by
from testbed.udp_way import udp_way

SECOND_NS = 10**9
MS_NS = 10**6
OFFSETS_NS = (1000 * SECOND_NS, -300 * MS_NS, 7)
WAIT_S = 300.0
"""Patience of a test, which nothing that it measures depends on."""
LENGTH, EVENTS = 56, 24
OPERATIONS = 500
MOST = 70_000


@contextmanager
def echo_behind(prefix: tuple[str, ...], folder: Path, address: str = "127.0.0.1") -> Iterator[Echo]:
    """Start an echo with words in front of its command; asking goes without them."""
    script = folder / "assay-engine"
    words = " ".join(f"'{word}'" for word in (*prefix, str(find_engine())))
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(0o700)
    with ExitStack() as running:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ASSAY_ENGINE", str(script))
            echo = running.enter_context(Echo(address))
        yield echo


def told(what: str, found: ClockReading, truth_ns: int) -> None:
    """Print what came out, for those who look."""
    print(f"{what}: off by {found.offset_ns - truth_ns:+,} ns, bound {found.bound_ns:,} ns")  # noqa: T201 - pytest shows it with -s


def error_ns(found: ClockReading, truth_ns: int) -> int:
    return abs(found.offset_ns - truth_ns)


@pytest.mark.parametrize("offset_ns", OFFSETS_NS)
def test_the_offset_of_a_clock_is_found_within_its_bound(offset_ns: int, tmp_path: Path) -> None:
    with echo_behind(ahead_by(offset_ns), tmp_path) as echo:
        exchanges = ask(echo.address, echo.port, echo.key)

    found = reading(exchanges)

    told(f"ahead by {offset_ns:,} ns", found, offset_ns)
    assert error_ns(found, offset_ns) <= found.bound_ns
    assert all(one.sent_ns <= one.there_ns - offset_ns <= one.received_ns for one in exchanges)


@pytest.mark.quiet
@pytest.mark.parametrize("offset_ns", OFFSETS_NS[:2])
def test_an_estimate_of_zero_would_be_found_out(offset_ns: int, tmp_path: Path) -> None:
    with echo_behind(ahead_by(offset_ns), tmp_path) as echo:
        found = reading(ask(echo.address, echo.port, echo.key))

    # Any bound that is worth having; a machine that stands still for a third of a second tells nothing.
    if found.bound_ns >= abs(offset_ns):
        raise Disturbed(f"no round trip took less than {2 * found.bound_ns / MS_NS:,.0f} ms")
    assert error_ns(found, 0) > found.bound_ns


@pytest.mark.parametrize("held_ms", [1, 5, 20])
@pytest.mark.parametrize("held_way", ["there", "back"])
def test_the_bound_covers_a_way_that_is_held_up_in_one_direction(held_ms: int, held_way: str) -> None:
    held = {f"{held_way}_s": held_ms / 1000}
    with Echo("127.0.0.1") as echo, udp_way(echo.address, echo.port, **held) as way:
        found = reading(ask(way.address, way.port, echo.key, exchanges=20))
        direct = reading(ask(echo.address, echo.port, echo.key))

    told(f"held for {held_ms} ms on the way {held_way}", found, 0)
    told("not held", direct, 0)
    assert abs(found.offset_ns) <= found.bound_ns
    # Error and bound are half of the difference and half of the sum of the ways: together the way that is held.
    towards = 1 if held_way == "there" else -1
    assert found.bound_ns + towards * found.offset_ns >= held_ms * MS_NS


def test_a_clock_that_is_ahead_is_found_over_a_way_that_is_held_up(tmp_path: Path) -> None:
    offset_ns = 1000 * SECOND_NS
    with (
        echo_behind(ahead_by(offset_ns), tmp_path) as echo,
        udp_way(echo.address, echo.port, back_s=0.005) as way,
    ):
        found = reading(ask(way.address, way.port, echo.key, exchanges=20))

    assert error_ns(found, offset_ns) <= found.bound_ns


@pytest.mark.xdist_group("mount namespaces")
def test_a_clock_at_the_other_end_of_a_link_is_found_within_its_bound(tmp_path: Path) -> None:
    need_root()
    offset_ns = -300 * MS_NS
    with link(1_000_000_000) as path:
        # The namespaces of network and time are the echo's; who asks is at this end.
        prefix = (*path.prefix, *ahead_by(offset_ns))
        with echo_behind(prefix, tmp_path, path.server_address) as echo:
            found = reading(ask(echo.address, echo.port, echo.key))

    told("between two network namespaces", found, offset_ns)
    assert error_ns(found, offset_ns) <= found.bound_ns


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_bound_on_loopback_is_told(address: str) -> None:
    if address == "::1" and not Path("/proc/net/if_inet6").exists():
        pytest.skip("needs IPv6, which is off here")
    with Echo(address) as echo:
        found = reading(ask(echo.address, echo.port, echo.key))

    told("on loopback", found, 0)
    assert abs(found.offset_ns) <= found.bound_ns
    assert 1 <= found.exchanges <= EXCHANGES


# -- strangers ---------------------------------------------------------------------------------------------------------


def sealed(key: bytes, word: bytes, number: int, time_ns: int = 0) -> bytes:
    """Write a datagram as the engine does, from its description alone."""
    said = word + struct.pack("<QQ", number, time_ns)
    return said + hmac.digest(key, said, hashlib.sha256)


@contextmanager
def stranger(echo: Echo) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.settimeout(WAIT_S)
        one.connect((echo.address, echo.port))
        yield one


def test_an_answer_is_as_long_as_its_question_and_made_as_described() -> None:
    with Echo("127.0.0.1") as echo, stranger(echo) as one:
        before_ns = time.monotonic_ns()
        one.send(sealed(echo.key, b"assay-q1", 1))
        answer = one.recv(2 * LENGTH)
        after_ns = time.monotonic_ns()

    (there_ns,) = struct.unpack("<Q", answer[16:EVENTS])
    assert answer == sealed(echo.key, b"assay-a1", 1, there_ns)
    assert len(answer) == LENGTH
    assert before_ns <= there_ns <= after_ns


def test_who_has_no_key_or_repeats_what_he_heard_gets_no_answer_and_does_no_harm() -> None:
    with Echo("127.0.0.1") as echo, udp_way(echo.address, echo.port) as way, stranger(echo) as one:
        # The last question was answered, so that all had come to the echo.
        wait_until(
            lambda: len(ask(way.address, way.port, echo.key, exchanges=3)) == 3, "three answers to three questions"
        )
        heard = list(way.asked)
        right = sealed(echo.key, b"assay-q1", time.monotonic_ns())
        junk = [
            b"",
            b"\0" * LENGTH,
            *heard,
            sealed(b"\0" * 32, b"assay-q1", 2**63),
            sealed(echo.key, b"assay-a1", 2**63),
            right[:-1],
            right[:EVENTS],
            right + b"\0",
            right * 500,
            b"x" * 65_000,
        ]
        for datagram in junk:
            one.send(datagram)
        one.send(right)
        # Loopback keeps the order: an answer to any of the others would come first.
        answer = one.recv(MOST)
        assert answer[:16] == b"assay-a1" + right[8:16]
        assert len(answer) == LENGTH

        again = ask(echo.address, echo.port, echo.key, exchanges=3)

        one.settimeout(0)
        with pytest.raises(BlockingIOError):
            one.recv(MOST)
    assert len(heard) >= 3
    assert again


def test_another_key_is_told_in_one_line() -> None:
    with Echo("127.0.0.1") as echo:
        with pytest.raises(RunError, match="another key") as refused:
            ask(echo.address, echo.port, b"\1" * 32, exchanges=1)

        assert ask(echo.address, echo.port, echo.key, exchanges=1)
    assert "\n" not in str(refused.value)


def test_an_echo_ends_with_its_block_and_answers_nobody_any_more() -> None:
    with Echo("127.0.0.1") as echo:
        address, port, key = echo.address, echo.port, echo.key

    with pytest.raises(RunError, match=r"the clock of 127\.0\.0\.1:"):
        ask(address, port, key, exchanges=1)


@pytest.mark.parametrize("address", ["0.0.0.0", "224.0.0.1", "192.0.2.77", "localhost", "--version"])  # noqa: S104 - refused
def test_an_address_that_is_not_one_of_this_machines_interfaces_is_refused_in_one_line(address: str) -> None:
    with pytest.raises(RunError, match="no echo of the clock could be started") as refused:
        Echo(address)

    assert "\n" not in str(refused.value)
    assert address in str(refused.value)


@pytest.mark.parametrize(
    ("words", "key", "code"),
    [
        (("echo", "127.0.0.1:0"), b"k" * 31, 2),
        (("echo", "127.0.0.1"), b"k" * 32, 2),
        (("echo", "192.0.2.77:0"), b"k" * 32, 3),
        (("ask", "127.0.0.1:9", "--exchanges", "0"), b"k" * 32, 2),
        (("ask", "127.0.0.1:9", "--exchanges", "3"), b"", 2),
        (("ask", "127.0.0.1:9"), b"k" * 32, 2),
    ],
)
def test_a_call_that_cannot_be_ends_with_its_code_and_one_line(words: tuple[str, ...], key: bytes, code: int) -> None:
    done = subprocess.run([find_engine(), *words], input=key, capture_output=True, timeout=WAIT_S, check=False)

    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (code, b"", 1)


def test_an_echo_ends_with_the_process_that_started_it_however_that_ends() -> None:
    script = (
        "from assay.cluster.echo import Echo\nwith Echo('127.0.0.1') as echo:\n print(echo.port, flush=True)\n input()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        port = int(starter.stdout.readline())
        children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text().split()
        starter.kill()

    assert len(children) == 1
    wait_until(lambda: _is_free(port), "the end of the echo")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


# -- one start ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offsets_ns", [(0, 0), (0, 1000 * SECOND_NS)])
def test_nobody_starts_before_the_agreed_time_by_his_own_clock(offsets_ns: tuple[int, ...], tmp_path: Path) -> None:
    prefixes = [ahead_by(offset_ns) if offset_ns else () for offset_ns in offsets_ns]
    with ExitStack() as running:
        engines = []
        for number, prefix in enumerate(prefixes):
            folder = tmp_path / str(number)
            folder.mkdir()
            engines.append(running.enter_context(Starting(folder, OPERATIONS, prefix)))
        at_ns = time.monotonic_ns() + SECOND_NS
        for engine, offset_ns in zip(engines, offsets_ns, strict=True):
            engine.start(at_ns + offset_ns)
        begun = [engine.begun() for engine in engines]

    for one, offset_ns in zip(begun, offsets_ns, strict=True):
        start_ns, first_ns = one.start_ns - offset_ns, one.first_ns - offset_ns
        assert one.late_ns == start_ns - at_ns
        assert at_ns <= start_ns <= first_ns


def test_a_time_that_is_past_is_told_as_late_by_all_that_went_by(tmp_path: Path) -> None:
    with Starting(tmp_path, OPERATIONS) as engine:
        ordered_ns = time.monotonic_ns()
        at_ns = ordered_ns - 5 * SECOND_NS
        engine.start(at_ns)
        begun = engine.begun()
        over_ns = time.monotonic_ns()

    assert begun.late_ns == begun.start_ns - at_ns
    assert begun.late_ns >= 5 * SECOND_NS
    # At once: while this test waited, and not at some later time.
    assert ordered_ns <= begun.start_ns <= begun.first_ns <= over_ns
