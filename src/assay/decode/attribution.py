"""Decide what a figure measured, and what limited it.

The rules are tried in order; the first that holds gives the verdict. Each shows its arithmetic, so that a reader can check
it or disagree with a fact. Where none holds the answer is `unknown`, with what would decide it.

1. The tool has no figure itself.
2. Impossible: faster than the link carries or the devices move. Nothing but memory on this side explains it.
3. The data fits in the client's memory and was not passed by it: reads are the page cache's, unflushed writes are
   write-back's.
4. The client's processor was busy nearly all the time.
5. The link was full: 85 % of what TCP carries of it in frames of 1500 bytes, 94.15 %.
6. Neither processor nor link was full, but their shares of a test that does one thing at a time add up to all of it.
7. The data fits in the server's memory.
8. One operation at a time, and time to spare: each waits for the one before, so its latency sets the rate.
"""

import dataclasses

from assay.decode.claim import Claim, Doing
from assay.decode.given import Given
from assay.units import format_bytes, format_number, format_seconds
from assay.verdicts import Bottleneck, ServedBy

TCP_SHARE = 0.9415
"""Of a link, what TCP carries of data in frames of 1500 bytes: 1448 of 1538."""
FULL_SHARE = 0.85
"""Of a ceiling, from where on it is what limits."""
BUSY_SHARE = 0.85
"""Of the elapsed time, from where on a processor is what limits; delays for a CPU are in none of these figures."""
IDLE_SHARE = 0.50
"""Below it, processing is not what takes the time."""
CACHED_SHARE = 0.95
"""Of the bytes, from where on memory (or storage) delivered them as good as alone."""
SURELY_BEYOND = 2
"""A set of N times the memory is not answered from it (the rule of Bonnie)."""


@dataclasses.dataclass(frozen=True)
class Attribution:
    """Of one figure."""

    of: ServedBy
    limiter: Bottleneck
    why: str
    """In a sentence or two, with the arithmetic."""


def attribute(figure: Claim, given: Given) -> Attribution:
    """Decide what a figure is a figure of."""
    given = _of_all(given, figure.clients)
    rules = (_no_figure, _impossible, _client_cache, _client_cpu, _link, _turns, _server_cache, _latency)
    return next((found for rule in rules if (found := rule(figure, given))), _unknown(figure, given))


def _of_all(given: Given, clients: int) -> Given:
    """Give the facts of all clients together; the server and its devices are there once."""
    return dataclasses.replace(
        given,
        link_bytes_per_s=given.link_bytes_per_s and given.link_bytes_per_s * clients,
        ram_bytes=given.ram_bytes and given.ram_bytes * clients,
    )


def _no_figure(figure: Claim, _given: Given) -> Attribution | None:
    if figure.bytes_per_s is not None or figure.ops_per_s is not None:
        return None
    quick = ": it was over in less than half a second" if figure.is_too_quick else ""
    why = f"The tool has no figure{quick}."
    if figure.action is Doing.STAT:
        why += " Files that were made a moment before are looked up in the client's own cache of names."
    return Attribution(ServedBy.UNKNOWN, Bottleneck.NOT_OBSERVABLE, why)


def _impossible(figure: Claim, given: Given) -> Attribution | None:
    rate, is_written = figure.bytes_per_s, figure.action in {Doing.WRITE, Doing.REWRITE}
    ceilings = (("link carries", given.link_bytes_per_s), ("devices move", given.device_bytes_per_s))
    for what, ceiling in ceilings:
        if rate is not None and ceiling is not None and rate > ceiling:
            times = f"{_rate(rate)} is {format_number(rate / ceiling)} times what the {what} ({_rate(ceiling)})"
            if figure.is_direct or (is_written and figure.is_flushed):
                why = f"{times}, and it did not stay in the client's memory: a fact is wrong, or the data was made smaller."
                return Attribution(ServedBy.UNKNOWN, Bottleneck.UNKNOWN, why)
            where = "went into" if is_written else "stayed in" if figure.action is Doing.COPY else "came out of"
            of = ServedBy.WRITE_BACK if is_written else ServedBy.PAGE_CACHE
            return Attribution(of, Bottleneck.CLIENT_MEMORY, f"{times}: the data {where} the client's memory.")
    return None


def _client_cache(figure: Claim, given: Given) -> Attribution | None:
    size, ram = figure.set_bytes, given.ram_bytes
    if size is None or ram is None or figure.is_direct or not figure.action.is_of_data or figure.is_by_character:
        return None
    if size >= SURELY_BEYOND * ram or (figure.action is Doing.WRITE and figure.is_flushed):
        return None
    fits = "fits in" if size <= ram else "is less than twice"
    so = f"The set of {format_bytes(size)} {fits} the {format_bytes(ram)} of the client"
    if size > ram:
        return Attribution(
            ServedBy.MIXED,
            Bottleneck.UNKNOWN,
            f"{so}: a part of it stayed in memory, and how large a part is unknown.",
        )
    of, why = _in_memory(figure)
    return (
        None
        if of is None
        else Attribution(of, Bottleneck.UNKNOWN if of in _OPEN else Bottleneck.CLIENT_MEMORY, f"{so}{why}")
    )


_OPEN = {ServedBy.MIXED, ServedBy.UNKNOWN}


def _in_memory(figure: Claim) -> tuple[ServedBy | None, str]:
    """Decide what delivered or took a set that fits in memory; None: not memory."""
    if figure.action is Doing.COPY:
        return ServedBy.UNKNOWN, ". The output does not show whether it read or wrote, flushed, or bypassed memory."
    if figure.action in {Doing.WRITE, Doing.REWRITE} and not figure.is_flushed:
        return ServedBy.WRITE_BACK, ", and was not flushed within the time: memory took it."
    if figure.action is Doing.REWRITE:
        return ServedBy.MIXED, ": it was read from there, and flushed to storage."
    return _read_from_memory(figure.cold_share)


def _read_from_memory(cold: float | None) -> tuple[ServedBy | None, str]:
    if cold is None:
        return ServedBy.UNKNOWN, ", and it is unknown whether it was there before."
    if cold <= 1 - CACHED_SHARE:
        return ServedBy.PAGE_CACHE, ", and had been written or read before."
    if cold < CACHED_SHARE:
        return ServedBy.MIXED, f": {100 * cold:.0f} % of the bytes were read for the first time, the others again."
    return None, ""


def _client_cpu(figure: Claim, _given: Given) -> Attribution | None:
    share, at_once = figure.cpu_share, figure.outstanding
    if share is None or share < BUSY_SHARE * max(at_once or 1, 1):
        return None
    what = "The test makes a call for each byte" if figure.is_by_character else "The tool computes and copies"
    return Attribution(
        ServedBy.CLIENT_CPU,
        Bottleneck.CLIENT_CPU_SINGLE,
        f"{what}, and its processor was busy for {100 * share:.0f} % of the time: faster storage would hardly show.",
    )


def _link(figure: Claim, given: Given) -> Attribution | None:
    share = _link_share(figure, given)
    if share is None or share < FULL_SHARE:
        return None
    ways = ", in and out," if figure.action is Doing.REWRITE else ""
    why = f"{_rate(figure.bytes_per_s)}{ways} is {_of_the_link(share, given)}."
    if _fits_server(figure, given):
        why += f" {_server(figure, given)}: its disks had nothing to do."
    return Attribution(ServedBy.LINK, Bottleneck.NETWORK_BANDWIDTH, why)


def _turns(figure: Claim, given: Given) -> Attribution | None:
    """One at a time computes, then waits for the link, and so on: the shares of both add up to all of its time."""
    share, cpu = _link_share(figure, given), figure.cpu_share
    if share is None or cpu is None or figure.outstanding != 1 or share + cpu < 1:
        return None
    return Attribution(
        ServedBy.MIXED,
        Bottleneck.NETWORK_BANDWIDTH if share >= cpu else Bottleneck.CLIENT_CPU_SINGLE,
        f"{_rate(figure.bytes_per_s)} is {_of_the_link(share, given)}, and the processor was busy for {100 * cpu:.0f} %"
        " of the time: the test takes turns between them, and neither can be measured as waiting for storage.",
    )


def _server_cache(figure: Claim, given: Given) -> Attribution | None:
    if figure.action is not Doing.READ or not _fits_server(figure, given):
        return None
    return Attribution(
        ServedBy.SERVER_CACHE, Bottleneck.UNKNOWN, f"{_server(figure, given)}, where it had been written before."
    )


def _latency(figure: Claim, given: Given) -> Attribution | None:
    rate, at_once, cpu = figure.ops_per_s, figure.outstanding, figure.cpu_share
    if not rate or at_once is None or cpu is None or cpu >= IDLE_SHARE * at_once:
        return None
    if figure.action.is_of_data and not figure.is_direct:  # read-ahead and write-back work for several at a time
        return None
    way = ", including the network round trip" if given.link_bytes_per_s is not None else ""
    why = (
        f"{format_number(rate)} a second with {at_once} at a time is {format_seconds(at_once / rate)} each{way}, and the"
        f" processor was busy for {100 * cpu:.0f} % of the time."
    )
    if at_once > 1:
        return Attribution(
            _attribute_latency(figure, given),
            Bottleneck.UNKNOWN,
            f"{why} Only a run with more at a time shows if more come.",
        )
    return Attribution(
        _attribute_latency(figure, given),
        Bottleneck.OPERATION_LATENCY,
        f"{why} It waits for each before the next: that sets the rate.",
    )


def _attribute_latency(figure: Claim, given: Given) -> ServedBy:
    """Decide what answered operations that were waited for: storage only where no memory can have."""
    if given.link_bytes_per_s is not None:
        return ServedBy.MIXED
    return ServedBy.STORAGE if figure.is_direct or figure.is_flushed else ServedBy.UNKNOWN


def _unknown(figure: Claim, given: Given) -> Attribution:
    rate, device = figure.bytes_per_s, given.device_bytes_per_s
    if device is not None and rate is not None and rate >= FULL_SHARE * device:
        why = f"{_rate(rate)} is {100 * rate / device:.0f} % of what the devices move ({_rate(device)})."
        return Attribution(ServedBy.STORAGE, Bottleneck.DEVICE_THROUGHPUT, why)
    if figure.is_by_character:
        why = (
            "The test makes a call for each byte, and its processor was not always busy: it waited for a CPU, or more."
        )
        return Attribution(ServedBy.UNKNOWN, Bottleneck.UNKNOWN, why)
    why = "No ceiling is near and no known cache is large enough."
    if figure.set_bytes and given.ram_bytes and figure.set_bytes >= SURELY_BEYOND * given.ram_bytes:
        why += f" The set of {format_bytes(figure.set_bytes)} is larger than the client's memory."
    facts = {"--ram": given.ram_bytes, "--link": given.link_bytes_per_s, "--device": device}
    if missing := [option for option, value in facts.items() if value is None]:
        why += f" {', '.join(missing)} would help to decide."
    return Attribution(ServedBy.UNKNOWN, Bottleneck.UNKNOWN, why)


def _link_share(figure: Claim, given: Given) -> float | None:
    """Give the share of what TCP carries of the link."""
    if figure.bytes_per_s is None or given.link_bytes_per_s is None:
        return None
    return figure.bytes_per_s / (TCP_SHARE * given.link_bytes_per_s)


def _of_the_link(share: float, given: Given) -> str:
    return f"{100 * share:.0f} % of what TCP carries of the link ({_rate(TCP_SHARE * (given.link_bytes_per_s or 0))})"


def _server(figure: Claim, given: Given) -> str:
    return (
        f"The set of {format_bytes(figure.set_bytes)} fits in the {format_bytes(given.server_ram_bytes)} of the server"
    )


def _fits_server(figure: Claim, given: Given) -> bool:
    return (
        given.server_ram_bytes is not None
        and figure.set_bytes is not None
        and figure.set_bytes <= given.server_ram_bytes
    )


def _rate(bytes_per_s: float | None) -> str:
    return f"{format_number(None if bytes_per_s is None else bytes_per_s / 1e6)} MB/s"
