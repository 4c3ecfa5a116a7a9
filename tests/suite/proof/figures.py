"""Read the figures of a step from its output: one short line for the page.

A reader also reports a flaw, where the output shows less than the step is to prove although its exit code is 0.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

NO_FIGURES = "no figures in the output"
LEAST_RIGHT = 0.95
"""Share of the planted causes that must be named, as in `e2e/test_planted.py`."""

LEAST_KILLED = 0.90
"""Share of the mutants that must be killed, of those that are not in `suite/mutation/survivors.toml`."""

_CLOSING = re.compile(r"^(?:=+ )?(\d+ \w+(?:, \d+ \w+)*) in [\d.]+s", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.MULTILINE)
_TRIED = re.compile(r": (\d+) tried, (\d+) taken, (\d+) MiB$", re.MULTILINE)
_TRIED_BY_CARGO = re.compile(r"\w+: (\d+) tried$", re.MULTILINE)
_TRIAL = re.compile(r"^(right|unsure|wrong|not planted|skipped|broken) +(\S.*)$", re.MULTILINE)
_BEHIND = re.compile(r"has (\d+ %) of")
_LEFT = re.compile(r"^left behind: ", re.MULTILINE)
_MUTANTS = re.compile(
    r"^(\d+) of (\d+) mutants(?:, seed (\d+))?: (\d+) killed, (\d+) timed out, (\d+) survived with a reason, (\d+) without$",
    re.MULTILINE,
)
_SURVIVOR = re.compile(r"^survived +\d+/\d+ (?:\S*/)?(\S+:\d+): ", re.MULTILINE)


class Reading(NamedTuple):
    """What the output of a step shows."""

    figures: str
    flaw: str = ""
    """Why the step has not passed although its exit code is 0; empty: none."""


def read_pytest(output: str) -> Reading:
    """Read the counts of pytest's closing line."""
    found = _CLOSING.findall(output)
    if not found:
        return Reading(NO_FIGURES, "pytest printed no closing line")
    counts = {word: int(count) for count, word in (part.split() for part in found[-1].split(", "))}
    shown = {word: count for word, count in counts.items() if word not in {"deselected", "warnings", "warning"}}
    return Reading(_in_words(shown), "" if counts.get("passed") else "no test passed")


def read_fuzzed_readers(output: str) -> Reading:
    """Read how many cases each reader in Python was given."""
    tried = [[int(number) for number in found] for found in _TRIED.findall(output)]
    if not tried:
        return Reading(_join("no reader was tried", *_closing(output)), "no reader was tried")
    cases, taken, peaks = zip(*tried, strict=True)
    figures = (
        f"{_count(len(tried), 'reader')}, {_cases(cases)}, {sum(taken):,} of them accepted, at most {max(peaks)} MiB"
    )
    return Reading(_join(figures, *_closing(output)))


def read_fuzzed_engine(output: str) -> Reading:
    """Read how many cases each reader in Rust was given."""
    tried = [int(number) for number in _TRIED_BY_CARGO.findall(output)]
    closing = [f"{passed} passed, {failed} failed" for passed, failed in _CARGO.findall(output)]
    if not tried:
        return Reading(_join("no reader was tried", *closing), "no reader was tried")
    return Reading(_join(f"{_count(len(tried), 'reader')}, {_cases(tried)}", *closing))


def read_models(output: str) -> Reading:
    """Count the models, and the orders in which they were run."""
    orders = [int(count) for count in re.findall(r"(\d+) orders$", output, re.MULTILINE)]
    passed, failed = (
        sum(int(count) for count in counts) for counts in zip(("0", "0"), *_CARGO.findall(output), strict=True)
    )
    closing = f"{passed} passed, {failed} failed"
    if not orders:
        return Reading(_join("no model was run", closing), "no model was run")
    return Reading(_join(f"{_count(len(orders), 'model')} in {sum(orders):,} orders", closing))


def read_fuzzed_programs(output: str) -> Reading:
    """Read how many command lines were tried, and the worst of them."""
    found = re.findall(r"(\d+) cases: (?:\{.*\}); (slowest [\d.]+ s, largest \d+ MiB)", output)
    faults = len(re.findall(r"^FAULT ", output, re.MULTILINE))
    cases = [f"{_count(int(count), 'case')}, {_count(faults, 'fault')}, {worst}" for count, worst in found]
    return _with_closing(output, *cases)


def read_lab(output: str) -> Reading:
    """Count how the trials of planted causes came out."""
    trials = [(outcome, re.split(r" \(", text)[0]) for outcome, text in _TRIAL.findall(output)]
    if not trials:
        return Reading(NO_FIGURES, "no cause was tried")
    counts = Counter(outcome for outcome, _ in trials)
    rare = ("not planted", "skipped", "broken")
    shown = {
        outcome: counts[outcome] for outcome in ("right", "unsure", "wrong", *(one for one in rare if counts[one]))
    }
    left = len(_LEFT.findall(output))
    flaws = [
        *([f"less than {100 * LEAST_RIGHT:.0f} % right"] if counts["right"] < LEAST_RIGHT * len(trials) else []),
        *([f"{left} left behind"] if left else []),
    ]
    return Reading(
        f"{_count(len({cause for _, cause in trials}), 'cause')}, {_count(len(trials), 'trial')}: {_in_words(shown)}",
        "; ".join(flaws),
    )


def read_differences(output: str) -> Reading:
    """Read the verdict on each planted difference."""
    lines = re.findall(r"^(right|unsure|wrong) {2,}(.+?): (.+)$", output, re.MULTILINE)
    if not lines:
        return Reading(NO_FIGURES, "nothing was compared")
    last = {plant: (outcome, text) for outcome, plant, text in lines}
    told = [
        f"{plant}: {text}{'' if outcome == 'right' else f' ({outcome})'}" for plant, (outcome, text) in last.items()
    ]
    return Reading(_join(*told), "something was left behind" if _LEFT.search(output) else "")


def read_stragglers(output: str) -> Reading:
    """Read how far behind each planted straggler was, and count the disturbed sums."""
    lines = re.findall(r"^(right|wrong) {2,}(sum \d+|[^:]+): (.*)$", output, re.MULTILINE)
    last = {name: (outcome, text) for outcome, name, text in lines}
    plants = {name: found for name, found in last.items() if not name.startswith("sum ")}
    sums = [outcome for name, (outcome, _) in last.items() if name.startswith("sum ")]
    if not plants or not sums:
        return Reading(NO_FIGURES, "no straggler was planted, or no sum disturbed")
    shares = (
        f"{name}: {'not named' if (at := _BEHIND.search(text)) is None else at[1]}{'' if outcome == 'right' else ' (wrong)'}"
        for name, (outcome, text) in plants.items()
    )
    right = sum(outcome == "right" for outcome in sums)
    return Reading(
        _join(*shares, f"{right} of {_count(len(sums), 'disturbed sum')} right"),
        "something was left behind" if _LEFT.search(output) else "",
    )


def read_hostile(output: str) -> Reading:
    """Count the attacks, and the runs and cleanings that were attacked."""
    ends = re.findall(r"exits of runs: \{(.*)\}", output)
    runs = sum(int(number) for each in ends for number in re.findall(r": (\d+)", each))
    return _with_closing(output, f"{_count(len(ends), 'attack')} on {_count(runs, 'run')} and cleanings")


def read_cuts(output: str) -> Reading:
    """Count the power cuts on each file system."""
    found = re.findall(r"(\w+): (\d+) cuts, (\d+) of them torn", output)
    return _with_closing(output, *(f"{kind}: {int(cuts):,} cuts, {int(torn):,} torn" for kind, cuts, torn in found))


def read_calls(output: str) -> Reading:
    """Count the system calls that were made to fail."""
    found = re.findall(r"(\d+) calls in a run; (\d+) failures tried, (\d+) met", output)
    return _with_closing(
        output, *(f"{int(tried):,} failures of {int(calls):,} calls, {int(met):,} met" for calls, tried, met in found)
    )


def read_endurance(output: str) -> Reading:
    """Read what a long run held at its beginning and later."""
    held = re.findall(r"at most \((\d+), (\d+)\) bytes at the beginning, \((\d+), (\d+)\) later", output)
    intervals = re.findall(r"(\d+) intervals: ", output)
    return _with_closing(
        output,
        *(f"{int(count):,} intervals" for count in intervals),
        *(f"memory {_growth(*map(int, one))} after the beginning" for one in held),
    )


def read_scale(output: str) -> Reading:
    """Read the memory that the largest file set took."""
    found = re.findall(r"(\d+) bytes with \d+ files, (\d+) with (\d+): (-?[\d.]+) a file", output)
    return _with_closing(
        output,
        *(
            f"{int(files):,} names: {int(many) >> 20} MiB of memory, {each} bytes for each further file"
            for _, many, files, each in found
        ),
    )


def read_repeats(output: str) -> Reading:
    """Read what is inferred from repeats."""
    found = re.search(
        r"(\d+) numbers were trusted, and (\d+) % of their own intervals .*? Of (\d+) rows .*? (\d+) have no difference",
        output,
    )
    if found is None:
        return Reading(NO_FIGURES, "no summary in the output")
    trusted, held, rows, alike = found.groups()
    return Reading(
        f"{trusted} trusted numbers; {alike} of {rows} rows have no difference between halves of their runs; {held} % of the"
        " runs' own intervals hold the median"
    )


def read_mutants(output: str) -> Reading:
    """Read how many mutants were killed, and which survived without a reason."""
    found = _MUTANTS.findall(output)
    if not found:
        return Reading(NO_FIGURES, "no summary in the output")
    tested, of, seed, *counts = found[-1]
    killed, timed_out, with_reason, without = map(int, counts)
    share = (killed + timed_out) / max(1, killed + timed_out + without)
    chosen = f"{int(tested):,} of {_count(int(of), 'mutant')}{f', seed {seed}' if seed else ''}"
    outcomes = (
        f"{killed:,} killed, {timed_out:,} timed out, {with_reason:,} survived with a reason, {without:,} without"
    )
    survivors = sorted({*_SURVIVOR.findall(output)})
    return Reading(
        _join(f"{chosen}: {outcomes}: {100 * share:.1f} % killed", *([" ".join(survivors)] if survivors else [])),
        "" if share >= LEAST_KILLED else f"less than {100 * LEAST_KILLED:.0f} % killed",
    )


def _cases(tried: Sequence[int]) -> str:
    """Describe how many cases the readers were given."""
    each = f"{min(tried):,}" if min(tried) == max(tried) else f"{min(tried):,} to {max(tried):,}"
    return f"{_count(sum(tried), 'case')} ({each} each)"


def _with_closing(output: str, *figures: str) -> Reading:
    """Put the counts of pytest behind the figures of the tests."""
    closing = read_pytest(output)
    return Reading(_join(*figures, closing.figures), closing.flaw)


def _closing(output: str) -> Iterator[str]:
    if _CLOSING.search(output):
        yield read_pytest(output).figures


def _growth(command: int, engine: int, command_later: int, engine_later: int) -> str:
    change = 100 * ((command_later + engine_later) / (command + engine) - 1)
    return f"{change:+.1f} %"


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in counts.items())


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
