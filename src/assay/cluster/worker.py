"""A client: it joins a leader, executes Plans with an engine of its own, and reports the events.

It ends when it is let go, when the leader is not there any more, when nothing was asked of it for a while, and on a signal.
However it ends, its engine is stopped first, which removes data, and what was measured stays on this machine until the
leader has a sealed run with it (`kept_runs.py`). A client that dies takes its engine along: the engine's input ends with
it.
"""

import asyncio
import contextlib
import dataclasses
import enum
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from assay import events
from assay.cluster.addresses import in_uri
from assay.cluster.client_engine import ClientEngine, StartEngine, start_engine
from assay.cluster.dask_parts import Security, Status, WorkerServer
from assay.cluster.echo import Echo
from assay.cluster.join_file import JoinFile
from assay.cluster.kept_runs import KeptRun, NothingKept
from assay.cluster.relay import SHORTEST_PERIOD_S, Relay, period_s
from assay.cluster.wire import CARD, Card, ClientMessage, EchoAt, Facts, LeaderMessage, Question, RefusedByClient
from assay.devices.device_identity import measured_node
from assay.errors import AssayError, refusal
from assay.host.manifest import collect
from assay.plan import Plan
from assay.targets import check_directory

JOINING_S: Final = 60.0
"""Time for which a client tries to reach its leader."""
LEADER_SILENT_S: Final = 60.0
"""A leader announces itself every few seconds; after this long it is taken to be gone. A connection that breaks is
noticed at once."""
_CLEANING_S: Final = 600.0
"""Removing data may take long; an engine that is not done after this time is ended, and its data stays."""
_KILLED_S: Final = 10.0


class Why(enum.Enum):
    """Why a client ended."""

    LET_GO = "the leader let it go"
    LEADER_GONE = "the leader is gone"
    IDLE = "nothing was asked of it"
    STOPPED = "it was stopped"
    REFUSED = "the leader refused it"
    NAME_TAKEN = "a client of this name already exists"
    UNREACHABLE = "the leader cannot be reached"


@dataclasses.dataclass(frozen=True)
class Departure:
    """How a client ended; `text` has details, if any."""

    why: Why
    text: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientSettings:
    """What a client is."""

    card: Card
    host: str
    """Own IP address, on which it listens."""
    root: Path
    """Folder under which runs are kept."""
    idle_s: float
    start_engine: StartEngine = start_engine


class _ClientRun:
    """A run that a client executes, or has executed and not yet handed over."""

    def __init__(self, kept: KeptRun, clients: int) -> None:
        self.kept = kept
        self.relay = Relay(clients)
        self.period_s = period_s(clients)
        self.engine: ClientEngine | None = None
        self.batches = 0
        self.is_over = asyncio.Event()


class ClientWorker:
    """One client, from joining to its end. Everything happens in one event loop, which others may share."""

    def __init__(self, join: JoinFile, security: Security, settings: ClientSettings) -> None:
        """Nothing is connected before `serve`."""
        self._join = join
        self._security = security
        self._settings = settings
        self._runs: dict[str, _ClientRun] = {}
        self._at_work: _ClientRun | None = None
        self._departure: asyncio.Future[Departure] = asyncio.get_running_loop().create_future()
        self._last_request_s = self._leader_s = time.monotonic()
        self._period_s = SHORTEST_PERIOD_S
        self._echo: Echo | None = None
        self._worker: WorkerServer

    def depart(self, departure: Departure) -> None:
        """End for this reason, unless there is one already."""
        if not self._departure.done():
            self._departure.set_result(departure)

    def kill_engine(self) -> None:
        """End the engine at once, if there is one; its data stays."""
        if self._at_work is not None and self._at_work.engine is not None:
            self._at_work.engine.kill()

    async def serve(self) -> Departure:
        """Join, and do what is asked until the end; gives why it came."""
        async with self._join_leader() as refused:
            if refused is not None:
                return refused
            relaying = asyncio.create_task(self._relay())
            watching = asyncio.create_task(self._watch_connection())
            try:
                departure = await self._departure
                await self._end_engine()
                if departure.why in {Why.IDLE, Why.STOPPED}:
                    self._worker.batched_send(
                        {"op": ClientMessage.LEAVES.value, "reason": departure.text or departure.why.value}
                    )
                return departure
            finally:
                for task in (relaying, watching):
                    task.cancel()
                if self._echo is not None:
                    await asyncio.to_thread(self._echo.close)

    @contextlib.asynccontextmanager
    async def _join_leader(self) -> AsyncIterator[Departure | None]:
        card = self._settings.card
        self._worker = WorkerServer(
            self._join.address,
            nthreads=1,
            name=card.name,
            security=self._security,
            host=in_uri(self._settings.host),
            protocol="tls" if self._join.is_encrypted else "tcp",
            memory_limit=0,
            death_timeout=JOINING_S,
            extensions={},
            metrics={},
            startup_information={CARD: lambda _: msgspec.json.encode(card)},
        )
        self._worker.handlers.update(self._question_handlers())
        self._worker.stream_handlers.update(self._report())
        refused = None
        try:
            await self._worker
        except TimeoutError:
            refused = Departure(Why.UNREACHABLE)
        except RuntimeError as error:
            refused = _explain_refusal(error.__cause__ or error)
        try:
            yield refused
        finally:
            await self._worker.close(timeout=5, executor_wait=False)

    def _question_handlers(self) -> dict[str, Any]:
        asked: dict[Question, Callable[..., Awaitable[bytes]]] = {
            Question.LOOK: self._look,
            Question.BEGIN: self._begin,
            Question.ECHO: self._send_echo,
            Question.PIECE: self._piece,
            Question.DIGEST: self._digest,
            Question.REMOVE: self._remove,
        }
        by_leader = {question.value: self._by_leader(answer) for question, answer in asked.items()}
        return {Question.CLOCK.value: self._clock, **by_leader}

    def _by_leader(self, answer: Callable[..., Awaitable[bytes]]) -> Callable[..., Awaitable[bytes]]:
        """Answer the leader alone: without keys, every user of this machine can ask."""

        async def answer_leader(token: str, **words: Any) -> bytes:
            self._check_token(token)
            return await answer(**words)

        return answer_leader

    def _check_token(self, token: object) -> None:
        if not isinstance(token, str) or not hmac.compare_digest(token.encode(), self._join.token.encode()):
            raise ValueError("this is not the leader of the run")

    def _report(self) -> dict[str, Any]:
        return {
            LeaderMessage.BEAT.value: self._leader_is_there,
            LeaderMessage.CONTROL.value: self._control,
            LeaderMessage.KILL.value: self._kill,
            LeaderMessage.DISMISS.value: self._dismiss,
            LeaderMessage.LET_GO.value: self._let_go,
        }

    # -- what is asked ---------------------------------------------------------------------------------------------------

    async def _answer(self, work: Coroutine[Any, Any, object]) -> bytes:
        """Do what is asked and give what comes of it as JSON; what cannot be done is an answer, too."""
        self._last_request_s = time.monotonic()
        try:
            return msgspec.json.encode(await work)
        except AssayError as error:
            text = str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the leader is informed
            text = refusal(error) or f"{type(error).__name__}: {error}"
        return msgspec.json.encode(RefusedByClient(text))

    async def _look(self, directories: dict[str, str]) -> bytes:
        def look() -> Facts:
            return Facts(collect({name: _place(path) for name, path in directories.items()}))

        return await self._answer(asyncio.to_thread(look))

    async def _begin(self, run_id: str, plan: bytes, clients: int) -> bytes:
        return await self._answer(self._begin_run(run_id, plan, clients))

    async def _begin_run(self, run_id: str, plan_json: bytes, clients: int) -> None:
        if self._at_work is not None:
            raise AssayError("another run is under way there")
        loop = asyncio.get_running_loop()
        plan = msgspec.json.decode(plan_json, type=Plan)
        kept = await asyncio.to_thread(KeptRun.make, self._settings.root, run_id, self._settings.card.name, plan)
        run = self._at_work = self._runs[run_id] = _ClientRun(kept, clients)

        def receive(new: Sequence[events.Event]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and with it the receiver
                loop.call_soon_threadsafe(self._receive, run, new)

        def over(error: str | None) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._over, run, error)

        try:
            run.engine = await asyncio.to_thread(self._settings.start_engine, plan, kept, receive, over)
        except BaseException:
            self._at_work = None
            run.is_over.set()
            del self._runs[run_id]
            with contextlib.suppress(OSError):
                kept.remove()
            raise

    async def _clock(self, comm: Any, token: str, exchanges: int) -> Status:
        """Send the time as often as is asked: the leader's messages and these alternate on one connection."""
        self._check_token(token)
        self._last_request_s = time.monotonic()
        for _ in range(exchanges):
            await comm.read()
            await comm.write(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        return Status.dont_reply

    async def _send_echo(self) -> bytes:
        return await self._answer(asyncio.to_thread(self._echo_at))

    def _echo_at(self) -> EchoAt:
        if self._echo is None:
            self._echo = Echo(self._settings.host)
        return EchoAt(self._echo.address, self._echo.port, self._echo.key)

    async def _piece(self, run_id: str, offset: int, count: int) -> bytes:
        self._last_request_s = time.monotonic()
        return await asyncio.to_thread(self._runs[run_id].kept.piece, offset, count)

    async def _digest(self, run_id: str) -> bytes:
        return await self._answer(self._digest_of(run_id))

    async def _digest_of(self, run_id: str) -> object:
        run = self._runs.get(run_id) or self._earlier(run_id)
        if run is None:
            return NothingKept()
        if not run.is_over.is_set():
            raise AssayError("its engine is still at work")
        return await asyncio.to_thread(run.kept.digest)

    def _earlier(self, run_id: str) -> "_ClientRun | None":
        """Take up what a worker of this name kept of a run before this one began."""
        kept = KeptRun.find(self._settings.root, run_id, self._settings.card.name)
        if kept is None:
            return None
        run = self._runs[run_id] = _ClientRun(kept, 1)
        run.is_over.set()
        return run

    async def _remove(self, run_id: str) -> bytes:
        return await self._answer(self._remove_run(run_id))

    async def _remove_run(self, run_id: str) -> None:
        if (run := self._runs.get(run_id)) is not None:
            await asyncio.to_thread(run.kept.remove)
            self._runs.pop(run_id, None)

    # -- what the leader sends -----------------------------------------------------------------------------------------

    def _leader_is_there(self, clients: int) -> None:
        self._leader_s = time.monotonic()
        self._period_s = period_s(clients)

    def _control(self, line: bytes) -> None:
        if self._at_work is not None and self._at_work.engine is not None:
            self._at_work.engine.send(msgspec.json.decode(line, type=events.Control))

    def _kill(self) -> None:
        self.kill_engine()

    def _dismiss(self, reason: str) -> None:
        self.depart(Departure(Why.REFUSED, reason))

    def _let_go(self) -> None:
        self.depart(Departure(Why.LET_GO))

    # -- what the client sends -----------------------------------------------------------------------------------------

    def _receive(self, run: _ClientRun, new: Sequence[events.Event]) -> None:
        is_urgent = False
        for event in new:
            is_urgent = run.relay.receive(event) or is_urgent
        if is_urgent:
            self._send_events(run)

    def _over(self, run: _ClientRun, error: str | None) -> None:
        run.is_over.set()
        self._at_work = None
        self._last_request_s = time.monotonic()
        self._send_events(run, is_over=True, error=error)

    def _send_events(self, run: _ClientRun, *, is_over: bool = False, error: str | None = None) -> None:
        self._worker.batched_send(
            {
                "op": ClientMessage.EVENTS.value,
                "run_id": run.kept.folder.parent.name,
                "number": run.batches,
                "lines": [msgspec.json.encode(event) for event in run.relay.take()],
                "is_over": is_over,
                "error": error,
            }
        )
        run.batches += 1

    async def _relay(self) -> None:
        """Report once in a period what has come, or that this client is there."""
        while True:
            run = self._at_work
            await asyncio.sleep(run.period_s if run else self._period_s)
            if run is not None and run is self._at_work:
                self._send_events(run)
            else:
                self._worker.batched_send({"op": ClientMessage.BEAT.value})
            now = time.monotonic()
            if now - self._leader_s > LEADER_SILENT_S:
                self.depart(Departure(Why.LEADER_GONE, f"it was silent for {LEADER_SILENT_S:g} s"))
            if not self._runs and now - self._last_request_s > self._settings.idle_s:
                self.depart(Departure(Why.IDLE, f"nothing was asked of it for {self._settings.idle_s:g} s"))

    async def _watch_connection(self) -> None:
        await self._worker.finished()  # type: ignore[no-untyped-call]  # Dask's
        self.depart(Departure(Why.LEADER_GONE, "the connection closed"))

    async def _end_engine(self) -> None:
        """Have the engine stop and clean up; one that does not is ended."""
        run = self._at_work
        if run is None or run.engine is None:
            return
        for end, patience_s in ((run.engine.stop, _CLEANING_S), (run.engine.kill, _KILLED_S)):
            end()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(run.is_over.wait(), patience_s)
                return


def _place(path: str) -> Path:
    """Give a directory or a block device of this machine; raises InputError where it is neither."""
    place = Path(path)
    if not place.is_block_device():
        return check_directory(place)
    measured_node(path)
    return place


def _explain_refusal(error: BaseException) -> Departure:
    """Explain why Dask could not join."""
    if isinstance(error, FileNotFoundError):
        return Departure(Why.REFUSED, "the key of the run is gone: it has begun, or is over")
    reason = str(error)
    return Departure(Why.NAME_TAKEN) if "name taken" in reason else Departure(Why.REFUSED, reason)
