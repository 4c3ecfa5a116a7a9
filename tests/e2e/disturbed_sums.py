"""Runs of three clients with late starts, pauses and losses: is the sum that of the clients' own records? `make prove`.

The truth is counted here from the records alone: hosts of the lab have one clock, so that times of all clients are those of
the machine. A sum is right where it is within 0.1 % of the operations that the clients counted in its window, the window is
of the time in which all worked, and there is none only where they shared too little of the time. What is collected after a
loss must not be less than what was there.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from e2e.many_clients import ManyClients, shared_variables
from e2e.planted.loads import CACHED_READ, data, only
from e2e.processes import WAIT_S, Running
from testbed.host import wait_until
from testbed.netlab import net_lab

HOSTS = ("h1", "h2", "h3")
HIT, ALSO_HIT = "h2", "h3"
SECONDS = 4.0
INTERVAL_S = 0.1
WITHIN = 0.001
LEAST_SHARED = 0.8
"""Of the time from the first start to the last end; below, there is no sum (docs/method.md)."""
SLACK = 2.5 * INTERVAL_S / SECONDS
"""Share of the phase that whole intervals leave open."""
LONG_PAUSE_S = 1.0
"""A pause of that length is to be reported with the client's name."""


@dataclass(frozen=True)
class Disturbance:
    """What is done to a client, and when."""

    what: str
    """`late`, `pause`, or what is killed or cut: `engine`, `worker`, `link`."""
    host: str = HIT
    at_s: float = 0.0
    """After the first intervals of all clients."""
    for_s: float = 0.0

    @property
    def is_loss(self) -> bool:
        """Whether the client is lost by it."""
        return self.what not in {"late", "pause"}

    def __str__(self) -> str:
        """Write it in one line."""
        at = "" if self.what == "late" else f" at {self.at_s:.2f} s"
        lasting = "" if self.is_loss else f" for {self.for_s:.2f} s"
        return f"{self.what} {self.host}{at}{lasting}"


def cases(seed: int) -> Iterator[tuple[Disturbance, ...]]:
    """Give the runs: moments and lengths are drawn."""
    draw = random.Random(seed).uniform  # noqa: S311 - moments
    for low_s, high_s in ((0.02, 0.08), (0.1, 0.2), (0.25, 0.4), (1.3, 1.8)):
        yield (Disturbance("late", for_s=draw(low_s, high_s)),)
    for low_s, high_s in ((0.05, 0.15), (0.2, 0.5), (0.6, 1.0), (1.2, 1.6), (1.2, 1.6)):
        yield (Disturbance("pause", at_s=draw(0, 1.2), for_s=draw(low_s, high_s)),)
    for what in ("engine", "worker", "link"):
        yield (Disturbance(what, at_s=draw(0.2, 1.2)),)
        yield (Disturbance(what, at_s=draw(1.2, 2.4)),)
    for what in ("engine", "worker"):
        yield (Disturbance("late", for_s=draw(0.1, 0.3)), Disturbance(what, at_s=draw(1, 2)))
        yield (
            Disturbance("pause", ALSO_HIT, at_s=draw(0, 0.3), for_s=draw(0.3, 0.6)),
            Disturbance(what, at_s=draw(1.2, 2)),
        )
    yield (
        Disturbance("pause", at_s=draw(0, 0.5), for_s=draw(0.4, 0.8)),
        Disturbance("pause", ALSO_HIT, at_s=1.0, for_s=0.5),
    )


@dataclass(frozen=True)
class Track:
    """What one client recorded of the phase, in seconds of the machine's clock."""

    begin_s: float
    """Its first operation; what it had counted when it started is none."""
    end_s: float
    """Its last operation, or its last interval where it has no end."""
    ticks: tuple[tuple[float, int], ...]
    """When it counted, and how much until then."""

    def counted(self, begin_s: float, end_s: float) -> float:
        """Count what it did between two times."""
        return self._until(end_s) - self._until(begin_s)

    def _until(self, at_s: float) -> float:
        """Count until a time: in an interval the load goes on evenly, in a pause nothing is done."""
        before = max((tick for tick in self.ticks if tick[0] <= at_s), default=self.ticks[0])
        after = min((tick for tick in self.ticks if tick[0] > at_s), default=self.ticks[-1])
        length_s = after[0] - before[0]
        if length_s <= 0 or length_s > 1.5 * INTERVAL_S:
            return min(before, after, key=lambda tick: abs(tick[0] - at_s))[1]
        return before[1] + (after[1] - before[1]) * (at_s - before[0]) / length_s


def tracks(bundle: Path) -> dict[str, Track]:
    """Read the records of all clients."""
    rows = pl.read_parquet(bundle / "intervals.parquet")
    found = {}
    for path in (bundle / "events").glob("*.json"):
        name = path.stem
        events = {event["event"]: event for event in json.loads(path.read_text())}
        zero_s = events["hello"]["clock"]["monotonic_at_zero_ns"] / 1e9
        if "started" not in events:
            continue
        ticks = [(zero_s + events["started"]["start_ns"] / 1e9, 0)]
        for t_s, ops in rows.filter(pl.col("client") == name).sort("t_s").select("t_s", "ops").iter_rows():
            ticks.append((zero_s + t_s, ticks[-1][1] + ops))
        workers = events.get("phase_finished", {}).get("workers", ())
        firsts = [zero_s + one["first_op_ns"] / 1e9 for one in workers if one["first_op_ns"] is not None]
        lasts = [zero_s + one["last_op_ns"] / 1e9 for one in workers if one["last_op_ns"] is not None]
        found[name] = Track(max(firsts, default=ticks[0][0]), min(lasts, default=ticks[-1][0]), tuple(ticks))
    return found


def faults_of(document: Mapping[str, Any], bundle: Path, done: Sequence[Disturbance]) -> Iterator[str]:
    """Hold the sum of a run against what its clients recorded; yields what is false."""
    total = next(row for row in document["results"] if row["client"] is None)
    ids = {finding["id"]: finding for finding in total["findings"]}
    yield from _faults_of_words(document, ids, done)
    of_sum = {rate["client"] for rate in document["sums"][0]["rates"]}
    if of_sum != {*HOSTS} and ids.get("clients-lost", {}).get("severity") != "invalid":
        yield f"a sum of {len(of_sum)} clients that may be used"
    of_clients = [track for name, track in tracks(bundle).items() if name in of_sum]
    begin_s, end_s = max(track.begin_s for track in of_clients), min(track.end_s for track in of_clients)
    whole_s = max(track.end_s for track in of_clients) - min(track.begin_s for track in of_clients)
    shared = max(0.0, end_s - begin_s) / whole_s
    is_cut = any(one.is_loss for one in done)
    if total["iops"] is None:
        if shared >= LEAST_SHARED + SLACK and not is_cut:
            yield f"no sum, although all worked {100 * shared:.0f} % of the time"
        return
    if shared < LEAST_SHARED - SLACK and not is_cut:
        yield f"a sum, although all worked {100 * shared:.0f} % of the time only"
    begun_s = json.loads((bundle / "clients.json").read_text())["starts"][0]["at_ns"] / 1e9
    first_s, last_s = (begun_s + at for at in total["window_s"])
    if first_s < begin_s - INTERVAL_S or last_s > end_s + INTERVAL_S:
        yield f"window {first_s - begin_s:+.3f} to {last_s - end_s:+.3f} s beside the time in which all worked"
    paused_s = sum(one.for_s + INTERVAL_S for one in done if one.what == "pause")
    if last_s - first_s < end_s - begin_s - SLACK * SECONDS - paused_s and "earlier-levels" not in ids:
        yield f"window of {last_s - first_s:.2f} s, although all worked {end_s - begin_s:.2f} s"
    truth = sum(track.counted(first_s, last_s) for track in of_clients) / (last_s - first_s)
    # Of each client one operation lies on an edge.
    if abs(total["iops"] - truth) > WITHIN * truth + len(of_clients) / (last_s - first_s):
        yield f"{total['iops']:.2f} operations a second, and the clients counted {truth:.2f}"


def _faults_of_words(
    document: Mapping[str, Any], ids: Mapping[str, Mapping[str, Any]], done: Sequence[Disturbance]
) -> Iterator[str]:
    lost = {one.host for one in done if one.is_loss}
    named = {client["name"] for client in document["clients"] if client["lost_s"] is not None}
    if named != lost:
        yield f"{named or 'nobody'} is lost, and not {lost or 'nobody'}"
    paused = {one.host for one in done if one.what == "pause" and one.for_s > LONG_PAUSE_S}
    if any(name not in ids.get("client-paused", {}).get("text", "") for name in paused):
        yield f"without the pause of {', '.join(paused)}"


def losses_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a collected run has less of than the run before."""
    rows = {row["label"]: row for row in after["results"]}
    for row in before["results"]:
        now = rows.get(row["label"])
        if now is None:
            yield f"{row['label']} is not there any more"
        elif (now["ops"] or 0) < (row["ops"] or 0) and row["client"] is not None:
            yield f"{row['label']} has {now['ops']} operations, and had {row['ops']}"
        elif row["trust"]["level"] != "no" and now["trust"]["level"] == "no":
            yield f"{row['label']} may not be used any more"


def disturb_run(done: Sequence[Disturbance], folder: Path) -> list[str]:
    """Carry one run out and disturb it; give what is false about it."""
    with net_lab(len(HOSTS), backing=folder, shared=shared_variables()) as lab:
        many = ManyClients(lab)
        many.make_directories()
        load = lab.leader.folder / "load.toml"
        job = f"limit = {{ ops_per_s = 500 }}\n{CACHED_READ}"
        load.write_text(only(job, seconds=SECONDS, sets=data("4MiB")))
        words = ("run", lab.place / load.name, many.directory, "--hosts", ",".join(HOSTS), "--json", "--no-report")
        with many.running(*words, folder=folder) as led:
            for one in sorted(done, key=lambda each: (each.what != "late", each.at_s)):
                _carry_out(many, led, one)
            code = led.exit_code()
        if code not in {0, 1}:
            return [f"exit code {code}: {led.said()[-400:]}"]
        document = json.loads((folder / "stdout").read_text())
        faults = list(faults_of(document, many.bundle().path, done))
        for one in done:
            if one.is_loss:
                if one.what == "link":
                    lab.mend(lab[one.host])
                faults += _collect(many, document, one.host, done)
        return faults


def _collect(many: ManyClients, before: Mapping[str, Any], host: str, done: Sequence[Disturbance]) -> Iterator[str]:
    wait_until(lambda: not many.engines(many.lab[host]), "the engine's end", WAIT_S)
    told = many("collect", "last", "--hosts", host, codes=(0, 1, 2, 3))
    after = json.loads(many("show", "last", "--json")[0])
    if not next(client for client in after["clients"] if client["name"] == host)["is_complete"]:
        yield f"nothing collected: {told[0].strip()} {told[1].strip()[-300:]}"
    yield from (f"collected: {fault}" for fault in losses_of(before, after))
    bundle = next(path for path in many.runs.iterdir() if path.name == after["run"]["id"])
    yield from (f"collected: {fault}" for fault in faults_of(after, bundle, done))


def _carry_out(many: ManyClients, led: Running, one: Disturbance) -> None:
    host = many.lab[one.host]
    if one.what == "late":
        _wait_for(many, led, "ready", (one.host,))
        engines = many.engines(host)
        _send(engines, signal.SIGSTOP)
        _wait_for(many, led, "started", tuple(name for name in HOSTS if name != one.host))
        time.sleep(one.for_s)
        _send(engines, signal.SIGCONT)
        return
    _wait_for(many, led, "interval", HOSTS)
    since_s = _measured_s(many)
    time.sleep(max(0.0, one.at_s - since_s))
    if one.what == "pause":
        engines = many.engines(host)
        _send(engines, signal.SIGSTOP)
        time.sleep(one.for_s)
        _send(engines, signal.SIGCONT)
    elif one.what == "link":
        many.lab.cut(host)
    else:
        _send(many.engines(host) if one.what == "engine" else many.workers(host), signal.SIGKILL)


def _send(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)


def _streams(many: ManyClients) -> dict[str, list[str]]:
    return {path.stem: path.read_text().splitlines() for path in many.runs.glob("*/events/*.ndjson")}


def _measured_s(many: ManyClients) -> float:
    """Give for how long the first of them has measured."""
    return max(sum('"event":"interval"' in line for line in lines) for lines in _streams(many).values()) * INTERVAL_S


def _wait_for(many: ManyClients, led: Running, event: str, hosts: Sequence[str]) -> None:
    def is_there() -> bool:
        streams = _streams(many)
        return led.process.poll() is not None or all(
            any(f'"event":"{event}"' in line for line in streams.get(name, ())) for name in hosts
        )

    wait_until(is_there, f"{event} of {', '.join(hosts)}", WAIT_S)
    if led.process.poll() is not None:
        raise RuntimeError(led.said())


def check_sums(folder: Path, words: Sequence[str]) -> Iterator[bool]:
    """Carry the runs out, and print what came of each."""
    for number, done in enumerate(cases(seed=34)):
        name = ", ".join(map(str, done))
        if words and not any(word in name for word in words):
            continue
        place = folder / f"sum-{number}"
        place.mkdir()
        faults = disturb_run(done, place)
        sys.stdout.write(f"{'wrong' if faults else 'right':8}sum {number + 1}: {'; '.join([name, *faults])}\n")
        sys.stdout.flush()
        yield not faults
