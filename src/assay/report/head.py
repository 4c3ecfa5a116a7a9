"""Gather what is printed above the table: run, storage, data and machine."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from assay import events
from assay.analysis.device_health import health_of_devices
from assay.analysis.set_views import OBSERVER
from assay.bundle.client_set import Role
from assay.results import ClientOfRun, Document, ForeignSource
from assay.units import format_bytes, format_names

if TYPE_CHECKING:
    from assay.analysis.record import RunRecord

SIZE_REASON_FACT = "quick.size_reason"
"""Key of the fact that explains the size of the data set."""
_DEVICE = "block:"
"""How the address of a block device begins."""
_MOST_NAMED = 6
_MOST_KINDS = 3
"""Most kinds of machines that are listed."""
_MOST_DEVICES = 64
"""Devices below a target that are looked through."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Of a run."""

    load: str
    """Name of the Plan."""
    pairs: tuple[tuple[str, str], ...]
    """Key and text of each line."""


def head_of(document: Document, run: "RunRecord") -> Head:
    """Gather it from the record."""
    pairs = [("run", f"{document.run.id}   {document.run.command}")]
    if document.run.foreign is not None:
        pairs += _foreign(document.run.foreign)
    pairs += [pair for pair in (("answers", run.plan.answers), ("void if", run.plan.void_if)) if pair[1]]
    pairs += [("target", _target(target.name, target.uri, run.facts)) for target in run.plan.targets]
    pairs += [("device", device.in_words()) for device in health_of_devices(run)]
    pairs += _data(run)
    if document.clients:
        pairs += _clients(document, run)
        pairs += _devices_of_clients(run)
    elif hello := run.first(events.Hello):
        machine = hello.machine
        ram = format_bytes(machine.ram_bytes)
        pairs.append(("machine", f"{machine.hostname}, {machine.cpus} CPUs, {ram} RAM, Linux {machine.kernel}"))
        pairs.append(("engine", f"assay-engine {hello.engine.version} ({hello.engine.profile} build)"))
    return Head(load=run.plan.name, pairs=tuple(pairs))


def head_of_client(document: Document, run: "RunRecord", client: ClientOfRun) -> Head:
    """Gather that of one of several clients.

    Args:
        document: Its own.
        run: Its own record.
        client: Who it is.
    """
    head = head_of(document, run)
    first, *others = head.pairs
    who = ("client", f"{client.name}   {client.hostname}, reached as {client.address}")
    return Head(load=head.load, pairs=(first, who, *others))


def _clients(document: Document, run: "RunRecord") -> list[tuple[str, str]]:
    """Describe the clients and their machines."""
    loads = [client.name for client in document.clients if client.role != OBSERVER]
    pairs = [("clients", f"{len(loads):,}: {format_names(loads, _MOST_NAMED)}")]
    if machines := _machines(run):
        pairs.append(("machines", machines))
    hellos = [hello for member in run.members if (hello := member.run.first(events.Hello)) is not None]
    engines = {f"assay-engine {hello.engine.version} ({hello.engine.profile} build)" for hello in hellos}
    return [*pairs, *([("engine", "; ".join(sorted(engines)))] if engines else [])]


def _devices_of_clients(run: "RunRecord") -> list[tuple[str, str]]:
    """Describe the disks of the first clients, as far as they show something."""
    found = [
        ("device", f"{one.member.name}, {device.in_words()}")
        for one in run.members
        for device in health_of_devices(one.run)
    ]
    return found[:_MOST_NAMED]


def _machines(run: "RunRecord") -> str:
    """Count the machines that made load, by their kinds: `3 clients on 1 machine: 8 CPUs, ...`."""
    loads = [one for one in run.members if one.member.role is Role.LOAD and one.run.first(events.Hello) is not None]
    of_host = {one.host: hello.machine for one in loads if (hello := one.run.first(events.Hello)) is not None}
    kinds = Counter(
        f"{machine.cpus} CPUs, {format_bytes(machine.ram_bytes)} RAM, Linux {machine.kernel}"
        for machine in of_host.values()
    )
    parts = [f"{count:,} of {kind}" for kind, count in kinds.most_common(_MOST_KINDS)]
    parts += [f"{len(kinds) - _MOST_KINDS:,} other kinds"] if len(kinds) > _MOST_KINDS else []
    text = "; ".join(parts)
    if len(of_host) == len(loads):
        return text
    if len(of_host) == 1:
        return f"{len(loads):,} clients on 1 machine: {next(iter(kinds))}"
    return f"{len(loads):,} clients on {len(of_host):,} machines: {text}"


def _foreign(source: ForeignSource) -> list[tuple[str, str]]:
    """Describe a foreign run: the tool, the time and the file."""
    version = f" {source.version}" if source.version else ""
    when = f"at {source.measured_utc}" if source.measured_utc else "at an unknown time"
    if source.assumed_zone is not None:
        by = "as given" if source.zone_is_given else "assumed: the tool reports none, and --timezone was not given"
        when += f" (times taken for {source.assumed_zone}, {by})"
    of = f", of {source.machine}" if source.machine else ""
    file = source.file
    kept = f"{file.name} ({format_bytes(file.bytes)}, sha256 {file.sha256}), kept in the run as {file.kept_as}"
    return [("foreign", f"not measured by Assay: {source.tool}{version}{of}, {when}"), ("from", kept)]


def _target(name: str, uri: str, facts: Mapping[str, object]) -> str:
    """Describe a target: directory, file system, and device."""
    own = f"target.{name}"
    directory = facts.get(f"{own}.directory") or uri
    kind = facts.get(f"{own}.fs.type") or "file system unknown"
    counted = facts.get(f"{own}.device.diskstats")
    source = facts.get(f"{own}.mount.source")
    if isinstance(counted, tuple | list) and counted:
        names = ", ".join(_device(f"{own}.device", str(device), facts) for device in counted)
        if uri.startswith(_DEVICE):
            return f"{directory}   block device {names}"
        on = f" on {names}"
    else:
        on = f" from {source}" if source and source != kind else ""
    return f"{directory}   {kind}{on}"


def _device(own: str, name: str, facts: Mapping[str, object]) -> str:
    """Give a device's name with its model and size, as far as they are known."""
    for place in range(_MOST_DEVICES):
        if facts.get(f"{own}.{place}.name") == name:
            size = facts.get(f"{own}.{place}.size_bytes")
            model = facts.get(f"{own}.{place}.model") or facts.get(f"{own}.{place}.kind")
            known = (str(model) if model else "", format_bytes(size) if isinstance(size, int) else "")
            text = ", ".join(part for part in known if part)
            return f"{name} ({text})" if text else name
    return name


def _data(run: "RunRecord") -> list[tuple[str, str]]:
    laid_out = {event.set: event for event in run.all(events.Prepared) if event.bytes}
    sizes = [f"{event.set} {format_bytes(event.bytes)}{_in_files(run, event)}" for event in laid_out.values()]
    reason = run.facts.get(SIZE_REASON_FACT)
    if isinstance(reason, str):
        sizes.append(reason)
    return [("data", "; ".join(sizes))] if sizes else []


def _in_files(run: "RunRecord", event: events.Prepared) -> str:
    """Add how many files it is; of a block device nothing."""
    address = next(one.uri for one in run.plan.targets if one.name == run.plan.file_set(event.set).target)
    if address.startswith(_DEVICE):
        return ""
    return " in 1 file" if event.files == 1 else f" in {event.files} files"
