"""Connections over Dask: TLS connections between the leader and each client.

Requests with an answer go by Dask's calls, each on a connection of its own to the client; messages without an
answer, and all that clients send, go by the one stream that each client opened when it joined, in order. Neither has
anything to do with when a phase starts: that is a time of each machine's clock, which the engine waits for.
"""

import asyncio
import contextlib
import hashlib
import os
import queue
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import msgspec

from assay import events
from assay.bundle.inside import limit_bytes
from assay.bundle.strict_json import decode
from assay.clocks import ClockReading, Exchange, reading
from assay.closing import close
from assay.cluster.connection import Check, Fetching, JoinedClient, Recalled, Received
from assay.cluster.dask_parts import LeaderServer
from assay.cluster.echo import ask
from assay.cluster.host_list import Connected, HostList
from assay.cluster.kept_runs import LARGEST_PIECE_BYTES, NothingKept, StreamDigest
from assay.cluster.leader_loop import LeaderLoop
from assay.cluster.relay import period_s
from assay.cluster.relayed import arriving
from assay.cluster.wire import LARGEST_ANSWER_BYTES, EchoAt, Facts, LeaderMessage, Question, RefusedByClient
from assay.errors import RunError, reason_of
from assay.host.facts import Fact
from assay.plan import Plan

T = TypeVar("T")

EXCHANGES: Final = 16
"""Questions for a client's time, of which the one with the shortest way counts."""
_CLOCKS_IN_A_ROW: Final = 50
"""Up to this many clients' clocks are read one after the other; with more, several at a time, which makes round trips
longer.
"""
_CALLS_AT_ONCE: Final = 64
CLOCK_S: Final = 10.0
"""Patience with a clock: a client that does not answer by then is not waited for by the others."""
FETCH_S: Final = 300.0
FETCH_BYTES_PER_S: Final = 8 << 20
"""A stream is to be here after the one and its bytes by the other: a client is not waited for without end."""
_ANSWER_S: Final = 60.0
"""Patience with one answer; a client that is gone is noticed sooner."""
_LEAVING_S: Final = 20.0
_LOOK_S: Final = 0.05
_MOST_RECEIVED: Final = 10_000
_LONGEST_REFUSAL: Final = 4000
_STREAM_IN_A_BUNDLE = "events/client.ndjson"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class DaskConnection:
    """The clients that joined a `Lead`; see `connection.Connection` for what each method does."""

    def __init__(
        self,
        loop: LeaderLoop,
        host_list: HostList,
        server: LeaderServer,
        order: Sequence[str],
        on_close: Callable[[], None],
    ) -> None:
        """Take over who has joined; `on_close` ends what they are connected to."""
        self._loop = loop
        self._host_list = host_list
        self._server = server
        self._order = tuple(order)
        self._on_close = on_close
        self._echoes: dict[str, EchoAt] = {}
        self._is_closed = self._is_over = False

    @property
    def clients(self) -> Mapping[str, JoinedClient]:
        """Those that are there, in the order in which the user named them."""
        there = self._there()
        return {name: there[name].joined for name in self._order if name in there}

    @property
    def suspects(self) -> Sequence[str]:
        """Those that have been silent for a while, and may soon be given up."""
        return self._loop.now(self._host_list.suspects)

    @property
    def batches_missed(self) -> Mapping[str, int]:
        """Batches of events that were numbered and never came, by client; where all is well there are none."""
        return self._loop.now(lambda: dict(self._host_list.batches_missed))

    def _there(self) -> dict[str, Connected]:
        return {} if self._is_over else self._loop.now(lambda: dict(self._host_list.by_name))

    # -- questions ---------------------------------------------------------------------------------------------------------

    def look(self, directories: Mapping[str, Mapping[str, str]]) -> Mapping[str, tuple[Fact, ...]]:
        """Ask each client named for the facts of its machine, and of directories of its own by target name."""
        answers = self._ask_all(
            directories,
            lambda one: self._ask(one, Question.LOOK, Facts, directories=dict(directories[one.joined.name])),
        )
        return {name: found.facts for name, found in answers.items()}

    def begin(self, run_id: str, plans: Mapping[str, Plan]) -> None:
        """Start an engine on each client named; where one cannot, those that were started are stopped again."""
        clients = len(plans)

        def reset_counts() -> None:
            self._host_list.period_s = max(self._host_list.period_s, period_s(clients))
            for name in plans:
                if (one := self._host_list.by_name.get(name)) is not None:
                    one.begin(run_id)

        self._loop.now(reset_counts)
        try:
            self._ask_all(
                plans,
                lambda one: self._ask(
                    one,
                    Question.BEGIN,
                    type(None),
                    run_id=run_id,
                    plan=plans[one.joined.name].to_json(),
                    clients=clients,
                ),
            )
        except RunError:
            self.send_controls(dict.fromkeys(plans, events.StopRun()))
            raise

    async def _ask(self, one: Connected, what: Question, kind: type[T], **words: object) -> T:
        """Ask a client something; raises RunError with what it could not do, or that it did not answer."""
        data = await self._call(one, what, **words)
        both: Any = RefusedByClient | kind
        if len(data) > LARGEST_ANSWER_BYTES:
            raise RunError(f"client '{one.joined.name}' gave an answer of {len(data)} bytes, which is not valid")
        try:
            answer = decode(data, both)
        except ValueError as error:
            raise RunError(f"client '{one.joined.name}' gave an answer that is not valid ({error})") from error
        if isinstance(answer, RefusedByClient):
            raise RunError(f"client '{one.joined.name}': {answer.text[:_LONGEST_REFUSAL]}")
        return cast("T", answer)

    async def _call(self, one: Connected, what: Question, **words: object) -> bytes:
        try:
            ask = getattr(self._server.rpc(one.worker), what.value)
            answer = await asyncio.wait_for(ask(token=self._host_list.token, **words), _ANSWER_S)
        except TimeoutError as error:
            raise RunError(f"client '{one.joined.name}' did not answer for {_ANSWER_S:g} s") from error
        except Exception as error:
            raise RunError(f"client '{one.joined.name}' does not answer: {type(error).__name__}: {error}") from error
        if not isinstance(answer, bytes):
            raise RunError(f"client '{one.joined.name}' gave an answer that is not valid")
        return answer

    def _ask_all(self, names: Mapping[str, object], ask: Callable[[Connected], Awaitable[T]]) -> dict[str, T]:
        """Ask several clients at once; raises RunError with the first few that could not."""
        there = self._there()
        gone = [name for name in names if name not in there]
        if gone:
            raise RunError(f"client '{gone[0]}' is not connected any more")

        async def ask_all() -> list[T | BaseException]:
            few = asyncio.Semaphore(_CALLS_AT_ONCE)

            async def ask_one(name: str) -> T:
                async with few:
                    return await ask(there[name])

            return await asyncio.gather(*(ask_one(name) for name in names), return_exceptions=True)

        answers: dict[str, T] = {}
        failures: list[str] = []
        for name, answer in zip(names, self._loop.call(ask_all()), strict=True):
            if isinstance(answer, RunError):
                failures.append(str(answer))
            elif isinstance(answer, BaseException):
                raise answer
            else:
                answers[name] = answer
        if failures:
            more = len(failures) - 3
            raise RunError("; ".join(failures[:3]) + (f"; and {more} more clients" if more > 0 else ""))
        return answers

    # -- words -------------------------------------------------------------------------------------------------------------

    def receive(self, timeout_s: float) -> Sequence[Received]:
        """Give what has come, in the order of each client; waits for at most T where nothing has."""
        received: list[Received] = []
        with contextlib.suppress(queue.Empty):
            received.append(
                self._host_list.received.get(timeout=timeout_s)
                if timeout_s > 0
                else self._host_list.received.get_nowait()
            )
            while len(received) < _MOST_RECEIVED:
                received.append(self._host_list.received.get_nowait())
        return received

    def send_controls(self, controls: Mapping[str, events.Control]) -> None:
        """Send a control line to each engine named. Those that are gone are passed over."""
        lines = {name: msgspec.json.encode(control) for name, control in controls.items()}
        self._send_each({name: {"op": LeaderMessage.CONTROL.value, "line": line} for name, line in lines.items()})

    def end_engines(self, clients: Sequence[str]) -> None:
        """Kill engines now; their streams stay."""
        self._send_each({name: {"op": LeaderMessage.KILL.value} for name in clients})

    def _send_each(self, messages: Mapping[str, Mapping[str, object]]) -> None:
        def send() -> None:
            for name, message in messages.items():
                if (one := self._host_list.by_name.get(name)) is not None:
                    self._host_list.send(one.worker, message)

        if not self._is_over:
            self._loop.soon(send)

    # -- clocks ------------------------------------------------------------------------------------------------------------

    def use_echoes(self) -> None:
        """Ask the clients' engines for their clocks, too; raises RunError where one cannot be asked."""
        echoes = self._ask_all(self.clients, lambda one: self._ask(one, Question.ECHO, EchoAt))
        for name, echo in echoes.items():
            try:
                ask(echo.address, echo.port, echo.key, exchanges=1)
            except RunError as error:
                raise RunError(
                    f"client '{name}': {error}. Is UDP open between here and there? Else leave --echo out"
                ) from error
        self._echoes = echoes

    def read_clocks(self) -> Mapping[str, ClockReading]:
        """Read every client's clock now; those that do not answer are not in it."""
        there = self._there()

        async def read_all() -> list[ClockReading | None]:
            few = asyncio.Semaphore(-(-len(there) // _CLOCKS_IN_A_ROW) or 1)

            async def read_one(one: Connected) -> ClockReading | None:
                async with few:
                    with contextlib.suppress(Exception):
                        return await asyncio.wait_for(self._read_best(one), CLOCK_S)
                return None

            return await asyncio.gather(*map(read_one, there.values()))

        found = dict(zip(there, self._loop.call(read_all()), strict=True))
        return {name: one for name in self._order if (one := found.get(name)) is not None}

    async def _read_best(self, one: Connected) -> ClockReading:
        """Read a clock through its worker, and by its engine's echo where there is one; the surer reading counts."""
        found = await self._read_clock(one)
        echo = self._echoes.get(one.joined.name)
        if echo is None:
            return found
        try:
            by_echo = reading(await asyncio.to_thread(ask, echo.address, echo.port, echo.key))
        except (RunError, ValueError):
            return found
        return min(found, by_echo, key=lambda each: each.bound_ns)

    async def _read_clock(self, one: Connected) -> ClockReading:
        exchanges = []
        comm: Any = await self._server.rpc.connect(one.worker)
        try:
            question = {"op": Question.CLOCK.value, "token": self._host_list.token, "exchanges": EXCHANGES}
            await comm.write({**question, "reply": False})
            for _ in range(EXCHANGES):
                sent_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                await comm.write(None)
                there_ns = await comm.read()
                exchanges.append(Exchange(sent_ns, int(there_ns), time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
        except BaseException:
            comm.abort()
            raise
        finally:
            self._server.rpc.reuse(one.worker, comm)
        return reading(exchanges)

    # -- results -----------------------------------------------------------------------------------------------------------

    def fetch(
        self,
        client: str,
        into: Path,
        report: Fetching = lambda _done, _all: None,
        check: Check = lambda _: None,
        most_bytes: int | None = None,
    ) -> None:
        """Bring a client's stream here, whole, checked and on storage; the client keeps its copy."""
        one = self._there().get(client)
        if one is None:
            raise RunError(f"client '{client}' is not connected any more; its stream is on its machine")
        digest = self._loop.call(self._digest(one, one.run_id))
        if digest is None:
            raise RunError(f"client '{client}' has nothing of {one.run_id}")
        most = limit_bytes(_STREAM_IN_A_BUNDLE) if most_bytes is None else most_bytes
        if not 0 <= digest.bytes <= most:
            raise RunError(f"client '{client}': its stream has {digest.bytes} bytes; the limit of this run is {most}")
        try:
            with arriving(into) as partial:
                self._write_pieces(one, partial, digest, report)
                check(partial)
        except OSError as error:
            raise RunError(
                f"{into}: could not be written: {reason_of(error)}. The stream is still on client '{client}'"
            ) from error

    def remove_run(self, client: str) -> str:
        """Have a client remove what it keeps of the run; returns the fault, if any, and never raises."""
        try:
            if (one := self._there().get(client)) is None:
                return f"client '{client}' is not connected any more"
            self._loop.call(self._ask(one, Question.REMOVE, type(None), run_id=one.run_id))
        except Exception as error:  # noqa: BLE001 - all that was measured is here: nothing of it is worth an error
            return str(error)
        return ""

    def recall(self, run_id: str) -> Recalled:
        """Turn to an earlier run, and report what each client has kept of it."""

        async def kept(one: Connected) -> StreamDigest | str | None:
            one.begin(run_id)
            try:
                return await self._digest(one, run_id)
            except RunError as error:
                return str(error).removeprefix(f"client '{one.joined.name}': ")

        found = self._ask_all(self.clients, kept)
        return Recalled(
            kept={name: answer.bytes for name, answer in found.items() if isinstance(answer, StreamDigest)},
            refused={name: answer for name, answer in found.items() if isinstance(answer, str)},
        )

    async def _digest(self, one: Connected, run_id: str) -> StreamDigest | None:
        """Ask what a client has kept of a run; None: nothing. Raises RunError."""
        kind: Any = StreamDigest | NothingKept
        answer = await self._ask(one, Question.DIGEST, kind, run_id=run_id)
        return answer if isinstance(answer, StreamDigest) else None

    def _write_pieces(self, one: Connected, partial: Path, digest: StreamDigest, report: Fetching) -> None:
        descriptor = os.open(partial, _NEW, 0o644)
        try:
            found, offset = hashlib.sha256(), 0
            until_s = time.monotonic() + FETCH_S + digest.bytes / FETCH_BYTES_PER_S
            while offset < digest.bytes and time.monotonic() < until_s:
                piece = self._loop.call(
                    self._call(one, Question.PIECE, run_id=one.run_id, offset=offset, count=LARGEST_PIECE_BYTES)
                )
                if len(piece) != min(LARGEST_PIECE_BYTES, digest.bytes - offset):
                    break
                with open(descriptor, "wb", closefd=False) as file:
                    file.write(piece)
                found.update(piece)
                offset += len(piece)
                report(offset, digest.bytes)
            if (offset, found.hexdigest()) != (digest.bytes, digest.sha256):
                raise RunError(
                    f"client '{one.joined.name}': its stream did not come whole ({offset} of {digest.bytes} bytes); it is "
                    "still there"
                )
            os.fsync(descriptor)
        finally:
            close(descriptor)

    # -- the end -----------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let every client go, wait a while until they are, and end what they were connected to. Never raises."""
        if self._is_closed:
            return
        self._is_closed = True
        with contextlib.suppress(Exception):
            self._loop.now(self._host_list.close_softly)
            give_up_s = time.monotonic() + _LEAVING_S
            while self._there() and time.monotonic() < give_up_s:
                time.sleep(_LOOK_S)
        self._is_over = True
        with contextlib.suppress(Exception):
            self._on_close()
