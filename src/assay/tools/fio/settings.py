"""What the words of fio ask for, job by job; what has no exact equal is refused here with its place."""

import dataclasses
from collections.abc import Mapping, Sequence

from assay import plan
from assay.errors import InputError
from assay.plan.limits import LISTS, NUMBERS
from assay.tools.fio import values
from assay.tools.fio.blocks import align, distributions, percentiles, rates, sizes
from assay.tools.fio.checks import check
from assay.tools.fio.command_line import take_apart
from assay.tools.fio.given import JobOptions, jobs_of, of_section
from assay.tools.fio.job_settings import DEFAULT_PERCENTILES, ENGINES, METADATA, QUEUES, Flow, JobSettings, Settings
from assay.tools.fio.placing import files as files_of
from assay.tools.fio.placing import size
from assay.tools.named_files import Files

_STEADY = {"iops": plan.SteadyOf.OPS, "bw": plan.SteadyOf.BYTES, "lat": plan.SteadyOf.LATENCY}
_EXITS = ("group", "stonewall", "all")
_WAYS = {
    "read": (True, False, False),
    "write": (False, True, False),
    "randread": (True, False, True),
    "randwrite": (False, True, True),
    "rw": (True, True, False),
    "readwrite": (True, True, False),
    "randrw": (True, True, True),
    "trim": (False, True, False),
    "randtrim": (False, True, True),
}
"""Of rw: reads, writes, at random."""
_FORMATS = frozenset({"normal", "json", "json+", "terse"})
_TERSE_VERSION = "3"
_HUGE_PAGE_BYTES = 2 << 20
_MOST_INSTANCES = int(LISTS["before"].most) // 2
"""The files of each are laid out and evicted."""


def parse(words: Sequence[str], files: Files) -> Settings:
    """Read words into which variables were put, and files; raises InputError."""
    asked = take_apart(words, files)
    notes: dict[str, str] = {}
    jobs, shared = [], {}
    for section, options, common in jobs_of(asked.sections, asked.overrides):
        given = of_section(section.where, options, asked.variables, notes)
        shared = {option.name: option.value or "1" for option in common}
        jobs.append(_job(section.name, section.where, given))
    # As fio: exitall of one job is that of all.
    if not any("exitall" in job.options and job.options["exitall"] != "0" for job in jobs):
        jobs = [dataclasses.replace(job, exits="") for job in jobs]
    if not jobs:
        raise InputError("fio: there is no job; give a job file, or --name=NAME --rw=read --size=1g")
    if "readonly" in asked.own and any(job.writes for job in jobs):
        raise InputError("fio: command line: '--readonly' and a job that writes; leave one of them out")
    return Settings(
        jobs=tuple(jobs),
        shared=shared,
        output=asked.own.get("output", ""),
        formats=_formats(asked.own),
        notes=(*asked.notes, *(f"{name}: {why}" for name, why in notes.items())),
        only_parse="parse-only" in asked.own,
        show_command="showcmd" in asked.own,
        words=tuple(words),
    )


def _formats(own: Mapping[str, str]) -> tuple[str, ...]:
    formats = ["terse"] if "minimal" in own else own.get("output-format", "normal").split(",")
    if unknown := [name for name in formats if name not in _FORMATS]:
        raise InputError(
            f"fio: command line: --output-format is {unknown[0][:40]}; supported: normal, terse, json, json+"
        )
    if own.get("terse-version", _TERSE_VERSION) != _TERSE_VERSION:
        raise InputError(f"fio: command line: --terse-version is {own['terse-version'][:40]}; only 3 is supported")
    return tuple(dict.fromkeys([*formats, *(["terse"] if "append-terse" in own else [])]))


def _job(name: str, where: str, given: JobOptions) -> JobSettings:
    reads, writes, is_random, step = _way(given)
    engine = _engine(given)
    placed = files_of(given)
    is_on_device = placed.device_bytes > 0
    trims = _is_trim(given, is_on_device=is_on_device)
    if engine in METADATA:
        reads, writes, is_random = True, False, False
    least, complete_most = given.whole("iodepth_batch_complete_min", 1), given.whole("iodepth_batch_complete_max", 0)
    most_depth = int(NUMBERS["queue_depth"].most)
    # As with libaio of fio, a trim ends before the next one begins.
    has_queue = engine in QUEUES and not (trims and is_on_device and engine != "null")
    depth = given.whole("iodepth", 1, 1, most_depth) if has_queue else 1
    if "iodepth_low" in given and has_queue and given.whole("iodepth_low") != depth:
        raise given.fault("iodepth_low", "is not supported: the queue is filled as soon as there is room; leave it out")
    if least == 0 or (complete_most and complete_most < least):
        raise given.fault("iodepth_batch_complete_min", "is 0, or above iodepth_batch_complete_max; give 1 or more")
    job = JobSettings(
        name=given.text("name", name),
        where=where,
        options=given.shown(),
        instances=given.whole("numjobs", 1, 1, _MOST_INSTANCES),
        is_thread=given.flag("thread"),
        group_reporting=given.flag("group_reporting"),
        is_shown=given.flag("stats", usual=True),
        stonewall=given.flag("stonewall"),
        new_group=given.flag("new_group"),
        wait_for=given.text("wait_for"),
        start_delay_s=given.seconds("startdelay"),
        exits=_exits(given),
        flow=_flow(given),
        steady=_steady(given),
        reads=reads,
        writes=writes,
        trims=trims,
        is_random=is_random,
        step_bytes=step,
        read_percent=_read_percent(given),
        engine=engine,
        depth=depth,
        batch=(given.whole("iodepth_batch", 1, 1, most_depth), min(least, depth), complete_most),
        direct=_direct(given),
        sync=_sync(given),
        fsync=given.whole("fsync"),
        fdatasync=given.whole("fdatasync"),
        end_fsync=given.flag("end_fsync") or given.flag("fsync_on_close"),
        sizes=sizes(given),
        align_bytes=align(given),
        files=placed,
        size=size(given, placed, is_metadata=engine in METADATA),
        rates=rates(given),
        think_us=(
            given.microseconds("thinktime"),
            given.microseconds("thinktime_spin"),
            given.whole("thinktime_blocks", 1, 1),
        ),
        distributions=distributions(given),
        has_map=not given.flag("norandommap"),
        seed=given.whole("randseed") if "randseed" in given else None,
        stamps=_stamps(given),
        verify=_stamps(given) and writes and given.flag("do_verify", usual=True),
        backlog=given.whole("verify_backlog") if _stamps(given) and given.flag("do_verify", usual=True) else 0,
        compress_percent=_compress_percent(given),
        dedupe_percent=_dedupe_percent(given),
        zeros=given.flag("zero_buffers"),
        keeps_buffer=_keeps_buffer(given),
        invalidate=given.flag("invalidate", usual=True),
        cpus=given.read("cpus_allowed", (), _cpus),
        numa_node=given.whole("numa_cpu_nodes", 0, 0, 1023) if "numa_cpu_nodes" in given else None,
        huge_pages=_huge_pages(given),
        advice=_advice(given, is_random=is_random),
        sqpoll=given.flag("sqthread_poll"),
        sqpoll_cpu=given.whole("sqthread_poll_cpu", 0, 0, 8191) if "sqthread_poll_cpu" in given else None,
        hipri=given.flag("hipri"),
        percentiles=given.read("percentile_list", DEFAULT_PERCENTILES, percentiles),
    )
    check(job, given)
    return job


# -- parts ----


def _way(given: JobOptions) -> tuple[bool, bool, bool, int]:
    word, _, modifier = given.text("rw", "read").partition(":")
    if word in {"trimwrite", "randtrimwrite"}:
        raise given.fault("rw", "writes what it has trimmed just before, which is not supported; give two jobs")
    if word not in _WAYS:
        raise given.fault("rw", f"is none of {', '.join(_WAYS)}")
    reads, writes, is_random = _WAYS[word]
    percent = given.read("percentage_random", 100 if is_random else 0, values.percentage)
    if percent != (100 if is_random else 0):
        raise given.fault("percentage_random", "must be 100 with random and 0 with sequential I/O; give two jobs")
    if not modifier:
        return reads, writes, is_random, 0
    try:
        number, is_percent = values.signed_size(modifier, given.kb_base)
    except values.BadValueError as fault:
        raise given.fault("rw", str(fault)) from None
    if is_percent or (is_random and number > 1):
        raise given.fault(
            "rw", "goes on in a row after each random place, which is not supported; use random I/O of larger blocks"
        )
    return reads, writes, is_random, 0 if is_random else number


def _is_trim(given: JobOptions, *, is_on_device: bool) -> bool:
    word = given.word("rw", "read")
    if "trim" not in word:
        return False
    if not is_on_device and given.word("ioengine", "psync") not in {"falloc", "null"}:
        raise given.fault(
            "rw", "trims a block device, which filename names; ioengine=falloc gives parts of a file back instead"
        )
    if any("," in given.text(name) for name in ("bs", "bsrange", "bssplit", "rate", "rate_iops")):
        raise given.fault("rw", "trims, which have the sizes and the rate of writes here; give one of each")
    return True


def _exits(given: JobOptions) -> str:
    what = given.text("exit_what", "group")
    if what not in _EXITS:
        raise given.fault("exit_what", f"is none of {', '.join(_EXITS)}")
    return what


def _flow(given: JobOptions) -> Flow:
    weight = given.whole("flow", 0, 0, 1 << 31)
    return Flow(weight=weight, number=given.whole("flow_id"), pause_us=given.whole("flow_sleep") if weight else 0)


def _keeps_buffer(given: JobOptions) -> bool:
    """Whether `refill_buffers=0` holds. What other options ask for is made anew for each write."""
    if given.flag("refill_buffers", usual=True) or given.flag("zero_buffers"):
        return False
    return not (_stamps(given) or _compress_percent(given) or _dedupe_percent(given))


def _compress_percent(given: JobOptions) -> int:
    return given.read("buffer_compress_percentage", 0, lambda text: values.percentage(text, 90))


def _dedupe_percent(given: JobOptions) -> int:
    return given.read("dedupe_percentage", 0, lambda text: values.percentage(text, 99))


def _steady(given: JobOptions) -> plan.SteadyRule | None:
    """Read the rule of `steadystate`, which holds where it has a duration."""
    window_s, step_s = given.seconds("steadystate_duration"), given.seconds("steadystate_check_interval") or 1.0
    if "steadystate" not in given or not window_s:
        return None
    what, _, bound = given.text("steadystate").partition(":")
    of, _, slope = what.strip().partition("_")
    if of not in _STEADY or slope not in {"", "slope"}:
        raise given.fault("steadystate", "must be iops, bw or lat, with or without _slope, such as iops_slope:1%")
    if window_s < 2 * step_s:
        raise given.fault("steadystate_duration", "is shorter than two checks, which decide nothing")

    def read(text: str) -> float:
        return values.real(text.partition(":")[2].strip().removesuffix("%"))

    return plan.SteadyRule(
        of=_STEADY[of],
        by=plan.SteadyBy.SLOPE if slope else plan.SteadyBy.DEVIATION,
        bound=given.read("steadystate", 0.0, read),
        is_percent=bound.strip().endswith("%"),
        window_s=window_s,
        skip_s=given.seconds("steadystate_ramp_time"),
        step_s=step_s,
    )


def _engine(given: JobOptions) -> str:
    engine = given.word("ioengine", "psync")
    if engine not in ENGINES:
        raise given.fault("ioengine", f"is not a supported engine; use one of {', '.join(sorted(ENGINES))}")
    return engine


def _direct(given: JobOptions) -> bool:
    direct = given.flag("direct")
    if "buffered" in given:
        direct = not given.flag("buffered") if "direct" not in given else direct
    return direct


def _sync(given: JobOptions) -> str:
    word = given.text("sync", "none")
    names = {"0": "", "none": "", "1": "sync", "sync": "sync", "dsync": "dsync"}
    if word not in names:
        raise given.fault("sync", "must be none, sync or dsync")
    return names[word]


def _read_percent(given: JobOptions) -> int:
    if "rwmixwrite" in given and "rwmixread" not in given:
        return 100 - given.read("rwmixwrite", 50, values.percentage)
    return given.read("rwmixread", 50, values.percentage)


def _stamps(given: JobOptions) -> bool:
    kinds = (
        "md5 crc64 crc32c crc32c-intel crc32 crc16 crc7 xxhash sha512 sha256 sha1 sha3-224 sha3-256 sha3-384 sha3-512"
    )
    word = given.word("verify", "0")
    if word in {"0", "null"}:
        return False
    if word not in {*kinds.split(), "meta", "pattern"}:
        raise given.fault("verify", "is not supported; use crc32c")
    return True


def _advice(given: JobOptions, *, is_random: bool) -> str:
    word = given.text("fadvise_hint", "1")
    named = {"0": "", "none": "", "1": "random" if is_random else "sequential", "random": "random",
             "sequential": "sequential", "noreuse": "noreuse"}  # fmt: skip
    if word not in named:
        raise given.fault("fadvise_hint", "must be none, random, sequential or noreuse")
    return named[word]


def _huge_pages(given: JobOptions) -> bool:
    """Whether buffers lie in huge pages: only values of `mem` that ask for them are left here."""
    if "mem" not in given:
        return False
    if given.size("hugepage-size", _HUGE_PAGE_BYTES) != _HUGE_PAGE_BYTES:
        raise given.fault("hugepage-size", "must be 2m: huge pages of other sizes are not supported")
    return True


def _cpus(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        low = values.whole(first, 0, 8191)
        found += range(low, values.whole(last, low, 8191) + 1 if last else low + 1)
    return tuple(found)
