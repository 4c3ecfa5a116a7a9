"""Read the block sizes, the rates and the random distribution of a job."""

from assay.plan.limits import NUMBERS
from assay.tools.fio import values
from assay.tools.fio.given import JobOptions
from assay.tools.fio.job_settings import RandomDistribution, Rate, Sizes

_MOST_STEPS = 1000
"""Sizes of a range: the most segments of a distribution."""
_HIGHEST_PARETO = 0.5
_MOST_BLOCKS = 256
"""Of a sequence: each is an operation that is named by itself."""
_HIGHEST_BLOCK = (1 << 31) - 1


def sizes(given: JobOptions) -> tuple[Sizes, Sizes]:
    """Read the block sizes of reads and of writes."""
    base = given.kb_base
    usual = _of_span(4096, 4096)
    if "bssplit" in given:
        name, found = "bssplit", given.each("bssplit", usual, lambda text: _of_shares(values.shares(text, base)))
    elif "bsrange" in given:
        name, found = "bsrange", given.each("bsrange", usual, lambda text: _of_span(*values.span(text, base)))
    else:
        name, found = (
            "bs",
            given.each("bs", usual, lambda text: _of_span(*[values.size(text, base)] * 2)),
        )
    most = NUMBERS["chunk_bytes"].most
    if any(least < 1 or largest > most for part in found for _, least, largest in part) or not all(found):
        raise given.fault(name, "has a block that is not between 1 byte and 1 GiB")
    return found


def _of_shares(shares: tuple[tuple[float, int], ...]) -> Sizes:
    return tuple((weight, size, size) for weight, size in shares)


def _of_span(least: int, most: int) -> Sizes:
    """Give the sizes of a range: fio draws multiples of the least, each alike."""
    steps = most // least if least else 0
    if steps > _MOST_STEPS:
        raise values.BadValueError(f"has more than {_MOST_STEPS} steps of its least size; give it a larger one")
    return tuple((1.0, least * step, least * step) for step in range(1, steps + 1))


def align(given: JobOptions) -> int:
    """Read what offsets are multiples of; 0: of the size."""
    first, second = given.each("ba", 0, lambda text: values.size(text, given.kb_base))
    if first != second:
        raise given.fault("ba", "is not the same for reads and writes, which is not supported; give two jobs")
    return first


def rates(given: JobOptions) -> tuple[Rate, Rate]:
    """Read what holds reads and writes back."""
    process = given.text("rate_process", "linear")
    if process not in {"linear", "poisson"}:
        raise given.fault("rate_process", "must be linear or poisson")

    def both(name: str) -> tuple[int, int]:
        return given.each(name, 0, lambda text: values.size(text or "0", given.kb_base))

    pairs = zip(both("rate"), both("rate_iops"), strict=True)
    made = [Rate(bytes_per_s=rate, iops=iops, is_poisson=process == "poisson") for rate, iops in pairs]
    return made[0], made[1]


def distributions(given: JobOptions) -> tuple[RandomDistribution, RandomDistribution]:
    """Read where random reads and writes go."""
    moves_on = given.whole("random_sequence_stride") > 0

    def both(text: str) -> tuple[RandomDistribution, RandomDistribution]:
        reads, writes = _distribution_parts(text)
        return _distribution(reads, moves_on=moves_on), _distribution(writes, moves_on=moves_on)

    return given.read("random_distribution", (RandomDistribution(), RandomDistribution()), both)


def _distribution_parts(text: str) -> tuple[str, str]:
    if not text.startswith("zoned"):
        return text, text
    kind, _, zones = text.partition(":")
    reads, writes = values.by_direction(zones)
    return f"{kind}:{reads}", f"{kind}:{writes}"


def _distribution(text: str, *, moves_on: bool) -> RandomDistribution:
    kind, _, rest = text.partition(":")
    if kind == "random" and not rest:
        return RandomDistribution()
    if kind == "zoned":
        return RandomDistribution(kind=kind, zones=_zones(rest))
    if kind == "sequence":
        return RandomDistribution(kind=kind, blocks=_blocks(rest), moves_on=moves_on)
    if kind not in {"zipf", "pareto"}:
        raise values.BadValueError("is not supported; use random, zipf, pareto, zoned or sequence")
    if ":" in rest or "/" in rest:
        raise values.BadValueError("sets the middle, which is not supported; leave that out")
    parameter = values.real(rest) if rest else {"zipf": 1.1, "pareto": 0.2}[kind]
    if kind == "pareto" and not 0 < parameter <= _HIGHEST_PARETO:
        raise values.BadValueError("is supported up to 0.5 only, where that share of the range gets all other accesses")
    limit = NUMBERS["theta"]
    if kind == "zipf" and not (limit.holds(parameter) and parameter != 1):
        raise values.BadValueError("must be from 0.01 to 10, and not 1, for which zipf is undefined")
    return RandomDistribution(kind=kind, parameter=parameter)


def _blocks(text: str) -> tuple[int, ...]:
    found = tuple(values.whole(part.strip(), 0, _HIGHEST_BLOCK) for part in text.split(","))
    if len(found) > _MOST_BLOCKS:
        raise values.BadValueError(f"has {len(found)} blocks; the limit is {_MOST_BLOCKS}")
    return found


def _zones(text: str) -> tuple[tuple[float, float, float], ...]:
    at, found = 0, list[tuple[float, float, float]]()
    parts = [part.partition("/") for part in text.split(":")]
    given = sum(values.percentage(share) for _, _, share in parts if share.strip())
    open_ones = sum(not share.strip() for _, _, share in parts)
    for weight, _, share in parts:
        # What has no share gets an equal one of what is left.
        end = at + (values.percentage(share) if share.strip() else (100 - given) // open_ones)
        found.append((float(values.percentage(weight)), at / 100, end / 100))
        at = end
    if at != 100 or sum(zone[0] for zone in found) != 100:
        raise values.BadValueError("has zones or shares that do not add up to 100 %")
    return tuple(zone for zone in found if zone[0] > 0)


def percentiles(text: str) -> tuple[float, ...]:
    """Read a list of percentiles."""
    found = tuple(sorted(values.real(part) for part in text.split(":")))
    if len(found) > 20 or any(not 0 < value <= 100 for value in found):
        raise values.BadValueError("has more than 20 percentiles, or one that is not above 0 and up to 100")
    return found
