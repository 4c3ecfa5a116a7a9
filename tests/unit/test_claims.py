"""Are sentences with numbers judged as their own tables, and runs of known rates, judge them?"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from assay.claims import against_runs
from assay.claims.accepted import ClaimVerdict
from assay.claims.against_runs import OfRuns
from assay.claims.against_tables import Meant
from assay.claims.assessed import AssessedClaim, AssessedClaims, AssessedSentence
from assay.claims.assessment import assess_claims, exit_code
from assay.claims.claims_file import ClaimsFile, parse_json, parse_text, parse_toml, read_claims, read_table
from assay.claims.expression import ExpressionError, evaluate
from assay.claims.fact_tables import FactTable, NotThereError, parse_csv
from assay.claims.sentence import SentenceError, parse
from assay.claims.stated_units import Prefixes
from assay.compare.arms import Arm
from assay.errors import InputError
from assay.report.claims_text import markdown_table
from assay.results import Document, Estimate, Reason, Result, Trust
from assay.verdicts import ServedBy, TrustLevel
from goldens import Goldens
from unit.quick_run import LOADS, quick_run

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "golden" / "claims"
PAGE = ROOT / "docs" / "reports.md"
INTRODUCTION = """\
# Five old reports, held to their own tables

Assay was founded on five field reports of 2005 to 2010, and on what was wrong in them. Each line is a claim of one, in
words of our own, and what its tables come to: 101, of which 33 do not stand. `assay claims reports.toml --markdown` makes
it from `tests/golden/claims/`, where the sentences are that are computed, and a test holds each figure to the one that was
found by hand.
The series of articles that compares NCP, CIFS, NetWare and Linux prints per cents without the tables that they are of: the
second table holds its conclusions to these (`articles.toml`).
How to judge claims of your own: [how-to/claims.md](how-to/claims.md).
"""
SUPPORTED, CONTRADICTED, NOT_DECIDABLE = ClaimVerdict


def nobody(side: str) -> Arm:
    """Refuse to gather runs, for sentences about tables."""
    raise AssertionError(side)


# -- the five reports --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reports() -> AssessedClaims:
    file = read_claims(str(FOLDER / "reports.toml"))
    return assess_claims(file, nobody, "last", Meant(prefixes=file.prefixes))


CHECKS = {check["id"]: check for check in json.loads((FOLDER / "checks.json").read_text())}
"""What was computed by hand, and whether the report agrees with it."""
WITHOUT_FIGURES = {"003.start_em", "000.mkdirtouch", "000.eva.typo", "000.sp"} | {
    *("003.putc", "003.rewrite", "000.eva.streams", "000.eva.readstreams")
}
"""Claims of which the tables have no number, or not the one that they are of."""


@pytest.mark.parametrize("id_", CHECKS)
def test_each_claim_of_the_reports_comes_to_what_was_found_by_hand(id_: str, reports: AssessedClaims) -> None:
    (claim,) = (claim for claim in reports.claims if claim.id == id_)

    computed = iter([value for one in claim.sentences if one.computed for value in one.computed.values])

    assert (claim.verdict is SUPPORTED) == CHECKS[id_]["agrees"]
    # In the order in which they were noted; a change is noted as one, where a sentence computes the ratio.
    missing = [number for number in CHECKS[id_]["computed"] if not any(is_printed(number, v, v - 1) for v in computed)]
    assert not missing, [one.reason for one in claim.sentences]


def is_printed(number: float, *values: float) -> bool:
    """Whether one of some values is printed as a number with its digits; a five at the end rounds either way."""
    digits = len(repr(number).partition(".")[2]) if isinstance(number, float) else 0
    return any(abs(value - number) <= 0.5001 * 10.0**-digits for value in values)


def test_all_claims_of_the_reports_are_there_and_33_do_not_stand(reports: AssessedClaims) -> None:
    without = [claim for claim in reports.claims if not any(one.computed for one in claim.sentences)]

    assert [claim.id for claim in reports.claims] == list(CHECKS)
    assert [reports.count(verdict) for verdict in ClaimVerdict] == [68, 24, 9]
    assert {claim.id for claim in without} == WITHOUT_FIGURES
    assert all(claim.sentences[0].reason for claim in without)
    assert exit_code(reports, is_strict=False) == 1


@pytest.fixture(scope="module")
def articles() -> AssessedClaims:
    file = read_claims(str(FOLDER / "articles.toml"))
    return assess_claims(file, nobody, "last", Meant(prefixes=file.prefixes))


def test_conclusions_of_the_articles_have_the_verdicts_that_their_figures_give(articles: AssessedClaims) -> None:
    """Figures: of records of 4, 8, 16 and 32 KiB +97, +95, +59 and +44 %, of 64 KiB +13 %, of 16 MiB -13 %, and so on."""
    assert {claim.id: claim.verdict for claim in articles.claims} == {
        "8.write.small": SUPPORTED,
        "8.write.crossover_record": SUPPORTED,
        "8.write.crossover_file": NOT_DECIDABLE,
        "8.write.files": SUPPORTED,
        "8.write.overall": NOT_DECIDABLE,
        "8.reads": SUPPORTED,
        "7.write": NOT_DECIDABLE,
        "7.write.sweet": SUPPORTED,
        "7.reads": SUPPORTED,
        "4.write.small": SUPPORTED,
        "4.read": SUPPORTED,
        "4.random_read": SUPPORTED,
    }
    of = {claim.id: claim for claim in articles.claims}
    computed = [
        value
        for id_ in ("8.write.small", "8.write.crossover_record")
        for sentence in of[id_].sentences
        if sentence.computed
        for value in sentence.computed.values
    ]
    assert computed == [0.44, 0.13, -0.13]


def test_the_page_of_the_reports_is_up_to_date(
    reports: AssessedClaims, articles: AssessedClaims, goldens: Goldens
) -> None:
    goldens.check(PAGE, "\n".join([INTRODUCTION, *markdown_table(reports), *markdown_table(articles), ""]))


@pytest.fixture(scope="module")
def perfpl() -> dict[str, FactTable]:
    return {"t": read_table(str(FOLDER / "perfpl_iterations.csv"), "t")}


def test_the_iterations_of_perf_pl_come_to_the_rates_that_were_found(perfpl: dict[str, FactTable]) -> None:
    def value(text: str) -> float:
        (found,) = evaluate(text, perfpl).values
        return found

    seconds = "total_seconds[test=1]"
    settled = evaluate(f"settled({seconds})", perfpl)

    assert value(f"sum(capacity_mib[test=1]) / sum({seconds})") == pytest.approx(58.83, abs=0.005)
    assert value(f"mean(capacity_mib[test=1] / {seconds})") == pytest.approx(60.06, abs=0.005)
    assert value(f"mean(capacity_mib[test=1]) / mean(settled({seconds}))") == pytest.approx(66.58, abs=0.005)
    assert [row["iteration"] for row in settled.rows] == ["5", "6", "7", "8", "9", "10"]
    assert value("p_normal(total_seconds[test=3], total_seconds[test=5])") == pytest.approx(0.0006, abs=0.00005)


def test_ten_files_a_directory_differ_but_by_little(perfpl: dict[str, FactTable]) -> None:
    words = "total_seconds[test=5] is slower than total_seconds[test=3] over iteration"

    slower, little, none = (
        told(says, perfpl)
        for says in (words, words.replace("slower", "at most 3 % slower"), words.replace("slower", "5 % slower"))
    )

    assert "different, but small" in slower.reason
    assert [one.verdict for one in (slower, little, none)] == [SUPPORTED, SUPPORTED, CONTRADICTED]
    assert slower.computed is not None
    assert slower.computed.values[0] == pytest.approx(1.0154, abs=5e-5)


PM10, F11, P904 = "postmark_2010.csv", "bonnie_fedora11.csv", "postmark_ubuntu904.csv"
LISTED = [
    ("cpu2[config=*integrated*] / cpu1[config=*integrated*] is 1.87", "cinebench.csv", CONTRADICTED),
    (
        "sum(capacity_mib[test=1]) / sum(total_seconds[test=1]) in MiB/s is 60.06 MiB/s",
        "perfpl_iterations.csv",
        CONTRADICTED,
    ),
    ("max(capacity_mib) is 3125 MiB", "perfpl_iterations.csv", CONTRADICTED),
    ("value[field=putc_write] in KiB/s is within 2 % of 87 MB/s", "bonnie_sample_decoded.csv", CONTRADICTED),
    ("value[field=seq_create] in /s is 744 /s", "bonnie_sample_decoded.csv", CONTRADICTED),
    ("value[field=seq_delete] in /s is 1591 /s", "bonnie_sample_decoded.csv", CONTRADICTED),
    ("l2arc.equals_disks_7k2 * 150 in IOPS is equal to l2arc.iops", "storage7000_misc.json", CONTRADICTED),
    ("cdn_streams * stream_rate_mbit_s / 8 in MB/s is 750 MB/s", "storage7000_misc.json", CONTRADICTED),
    (
        "mkdir_op_ms[iterations=3000] is four orders of magnitude above enum_op_ms[iterations=3000]",
        "bigdir_sample.csv",
        CONTRADICTED,
    ),
    ("fat_read is faster than ntfs_read", "ntfs_fat32_iozone.csv", SUPPORTED),
    ("fat_write is faster than ntfs_write", "ntfs_fat32_iozone.csv", CONTRADICTED),
    ("iops[scheduler=deadline,filesystem!=Ext*] is faster than iops[scheduler=cfq] by filesystem", P904, CONTRADICTED),
    (
        "iops[filesystem=Ext3,scheduler=deadline] is 6.1 % faster than iops[filesystem=Ext3,scheduler=cfq]",
        P904,
        SUPPORTED,
    ),
    (
        "iops[scheduler=deadline,filesystem!=Ext*] is faster than iops[scheduler=cfq] by filesystem",
        "bonnie_ubuntu904.csv",
        SUPPORTED,
    ),
    ("block_write_kb_s[filesystem=XFS*] is faster than block_write_kb_s[filesystem=ext4*]", F11, NOT_DECIDABLE),
    ("iops[config='Ubuntu 10.04b deadline'] is faster than iops[config='Ubuntu 10.04b']", PM10, NOT_DECIDABLE),
    ("iops[config='PCLOS ext4 deadline'] is faster than iops[config='PCLOS ext4 CFQ']", PM10, NOT_DECIDABLE),
    ("time_s * read_mb_s is within 1 % of 548", PM10, CONTRADICTED),
    ("write_mb_s / read_mb_s is within 1 % of 2.11", PM10, SUPPORTED),
    ("read_latency_ms.during is at most 5 % higher than read_latency_ms.before", "rebuild_timeline.json", CONTRADICTED),
    ("linux_load.dir_create is 18", "oes_sept2006.json", SUPPORTED),
    ("8 * linux_load.dir_create / netware_cpu_pct.dir_create_peak is about 8", "oes_sept2006.json", CONTRADICTED),
    (
        "1.42 * diff_lun_diff_group.best_single_write_mb_s in MB/s is equal to diff_lun_diff_group.write_total_mb_s",
        "eva4400_streams.json",
        CONTRADICTED,
    ),
    ("threads[id=4] is equal to threads[id=3]", "eleven_metrics.csv", CONTRADICTED),
    ("iops / drives is 111", "xiv_claims.json", SUPPORTED),
    ("san_mb_s / 200 is about 0.2", "oes_sept2006.json", CONTRADICTED),
    ("cache_taint.netware_kb_s is 44 times cache_taint.linux_kb_s", "oes_sept2006.json", SUPPORTED),
]
"""What reports said against their own tables, and what it was found to be."""


@pytest.mark.parametrize(("says", "table", "verdict"), LISTED)
def test_what_reports_said_is_judged_as_it_was_found_to_be(says: str, table: str, verdict: ClaimVerdict) -> None:
    found = told(says, {"t": read_table(str(FOLDER / table), "t")})

    assert found.verdict is verdict, found.reason


# -- sentences ---------------------------------------------------------------------------------------------------------

TABLE = """\
# unit: MB/s
# clients: 4
kind,run,rate,other,wait_ms,load
a,1,100,104,2.0,3
a,2,101,105,2.1,3
a,3,99,103,1.9,3
b,1,120,104,1.0,3
b,2,121,105,1.1,3
b,3,119,103,0.9,0
"""


@pytest.fixture(scope="module")
def small() -> dict[str, FactTable]:
    return {"t": parse_csv(TABLE, "t", "table.csv")}


def told(says: str, tables: dict[str, FactTable], **meant: object) -> AssessedSentence:
    """Judge a sentence about tables."""
    file = ClaimsFile(
        "claims", "", parse_text(says, "claims", is_markdown=False)[0].claims, tables, Prefixes.BOTH, False
    )
    (claim,) = assess_claims(file, nobody, "last", msgspec_meant(**meant)).claims
    (sentence,) = claim.sentences
    return sentence


def msgspec_meant(**meant: object) -> Meant:
    return Meant(**meant)  # type: ignore[arg-type] # what a test gives


A1, B1 = "[kind=a,run=1]", "[kind=b,run=1]"


@pytest.mark.parametrize(
    ("says", "verdict"),
    [
        (f"rate{A1} is 100 MB/s", SUPPORTED),
        (f"rate{A1} is 100.4 MB/s", CONTRADICTED),
        (f"rate{A1} is at least 100 MB/s", SUPPORTED),
        (f"rate{A1} is more than 100 MB/s", CONTRADICTED),
        (f"rate{A1} is < 100.1 MB/s", SUPPORTED),
        (f"rate{A1} is about 109 MB/s", SUPPORTED),
        (f"rate{A1} is about 112 MB/s", CONTRADICTED),
        (f"rate{A1} is between 90 and 100 MB/s", SUPPORTED),
        (f"rate{A1} is within 5 % of 106 MB/s", CONTRADICTED),
        (f"rate{B1} is 20 % faster than rate{A1}", SUPPORTED),
        (f"rate{B1} is 25 % faster than rate{A1}", CONTRADICTED),
        (f"rate{A1} is 17 % slower than rate{B1}", SUPPORTED),
        (f"rate{B1} is at most 30 % higher than rate{A1}", SUPPORTED),
        (f"rate{B1} is 1.2 times rate{A1}", SUPPORTED),
        (f"rate{B1} is faster than rate{A1}", SUPPORTED),
        (f"rate{B1} is slower than rate{A1}", CONTRADICTED),
        # Of a time, less is faster; half of it is 50 % faster to some and 100 % to others.
        (f"wait_ms{B1} is faster than wait_ms{A1}", SUPPORTED),
        (f"wait_ms{B1} is lower than wait_ms{A1}", SUPPORTED),
        (f"wait_ms{B1} is 2 times faster than wait_ms{A1}", SUPPORTED),
        (f"wait_ms{B1} is 50 % faster than wait_ms{A1}", NOT_DECIDABLE),
        (f"wait_ms{B1} is 50 % lower than wait_ms{A1}", SUPPORTED),
        # Within what single values differ by from run to run.
        (f"rate{A1} is faster than rate[kind=a,run=3]", NOT_DECIDABLE),
        (f"rate{A1} is as fast as rate[kind=a,run=3]", NOT_DECIDABLE),
        (f"rate{A1} is as fast as rate{B1}", CONTRADICTED),
        ("rate[kind=a] is within 5 % of other[kind=b] over run", NOT_DECIDABLE),
        ("rate[kind=a] is within 10 % of other[kind=b] over run", SUPPORTED),
        # Every row, by itself or by its partner.
        ("rate[kind=a] is at most 101 MB/s", SUPPORTED),
        ("rate[kind=a] is at most 100 MB/s", CONTRADICTED),
        ("rate[kind=b] is faster than rate[kind=a] by run", SUPPORTED),
        ("rate is faster than other", CONTRADICTED),
        # Repeats have an interval.
        ("rate[kind=b] is faster than rate[kind=a] over run", SUPPORTED),
        ("rate[kind=b] is 20 % faster than rate[kind=a] over run", NOT_DECIDABLE),
        ("rate[kind=b] is about 20 % faster than rate[kind=a] over run", NOT_DECIDABLE),
        ("rate[kind=b] is between 110 and 130 MB/s over run", SUPPORTED),
        ("rate[kind=b] is at least 119.5 MB/s over run", NOT_DECIDABLE),
        ("rate[kind=a] is faster than other[kind=b] over run", CONTRADICTED),
        ("rate[kind=a,run<3] is faster than rate[kind=b,run<3] over run", NOT_DECIDABLE),
        # Units, and what has none.
        (f"rate{A1} is 0.1 GB/s", SUPPORTED),
        (f"rate{A1} is 95.4 MiB/s", NOT_DECIDABLE),
        (f"rate{A1} is at least 90 MiB/s", SUPPORTED),
        (f"wait_ms{A1} is 2000 us", SUPPORTED),
        (f"rate{A1} is 2 ms", NOT_DECIDABLE),
        (f"rate{A1} is faster than wait_ms{A1}", NOT_DECIDABLE),
        (f"rate{A1} / rate{B1} is 83 %", SUPPORTED),
        (f"rate{A1} in KiB/s is at least 1 MB/s", NOT_DECIDABLE),
        ("clients in B is 4 B", NOT_DECIDABLE),
        (f"2 * rate{A1} is 200 MB/s", NOT_DECIDABLE),
        (f"2 * rate{A1} in MB/s is 200 MB/s", SUPPORTED),
        # What is not there.
        ("writes are at least 5 MB/s", NOT_DECIDABLE),
        ("rate[kind=c] is at least 5 MB/s", NOT_DECIDABLE),
        ("rate[colour=red] is at least 5 MB/s", NOT_DECIDABLE),
        ("kind is 5", NOT_DECIDABLE),
        (f"rate{A1} / load[kind=b,run=3] is 5", NOT_DECIDABLE),
        ("rate[kind=a] is faster than rate[kind=b]", NOT_DECIDABLE),
        ("the array was very fast", NOT_DECIDABLE),
        ("rate is 5 parsecs", NOT_DECIDABLE),
        ("rate( is 5", NOT_DECIDABLE),
    ],
)
def test_a_sentence_about_a_table_has_its_verdict(
    says: str, verdict: ClaimVerdict, small: dict[str, FactTable]
) -> None:
    found = told(says, small)

    assert found.verdict is verdict, found.reason
    assert found.reason


def test_what_kb_means_is_asked_where_the_verdict_turns_on_it() -> None:
    tables = {"t": parse_csv("what,rate_kb_s\nputc,81160\n", "t", "t.csv")}
    says = "rate_kb_s is 83.1 MB/s"

    verdicts = [told(says, tables, prefixes=prefixes).verdict for prefixes in Prefixes]

    # 81,160 KB are 81.2 or 83.1 MB, where these count in 1000s both or not.
    assert verdicts == [NOT_DECIDABLE, CONTRADICTED, CONTRADICTED]
    assert told("rate_kb_s in KiB/s is 83.1 MB/s", tables, prefixes=Prefixes.DECIMAL).verdict is SUPPORTED
    surely = told("rate_kb_s is at least 200 MB/s", tables)
    assert surely.verdict is CONTRADICTED
    # 81,160 of 1000 in 1048576s, and of 1024 in 1000000s.
    assert "so that 77.4002 to 83.1078 MB/s may be meant" in surely.reason
    assert "1000s or 1024s" in told(says, tables).reason


def test_rows_without_a_partner_are_told(small: dict[str, FactTable]) -> None:
    found = told("rate[kind=b] is faster than rate[kind=a,run>1] by run", small)

    assert found.computed is not None
    assert len(found.computed.values) == 2
    assert "1 without a partner in 'run'" in found.reason


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 8", 6.5),
        ("-(2 + 3) * 2", -10),
        ("mean(rate[kind=a])", 100),
        ("sum(rate[kind=a] * run[kind=a])", 599),
        ("geomean(rate[run=1])", 109.544511501),
        ("max(rate) - min(rate)", 22),
        ("median(rate[kind!=a])", 120),
        ("count(rate[rate>=101])", 4),
        ("ceil(rate[kind=a,run=1] / 3)", 34),
        ("first(rate) / last(rate)", 100 / 119),
        ("t.rate['kind'=a, run=1]", None),
        ("log10(1000) + abs(-2) + floor(2.9)", 7),
        ("clients * 2", 8),
    ],
)
def test_arithmetic_is_that_of_a_pocket_calculator(text: str, value: float | None, small: dict[str, FactTable]) -> None:
    if value is None:
        with pytest.raises((ExpressionError, NotThereError)):
            evaluate(text, small)
    else:
        assert evaluate(text, small).values == pytest.approx((value,))


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "(1", "1)", "mean()", "nothing(1)", "p(1)", "rate[", "rate[kind]", "1 2", "(" * 30 + "1" + ")" * 30],
)
def test_what_is_no_expression_is_refused(text: str, small: dict[str, FactTable]) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, small)


@pytest.mark.parametrize(
    "text", ["fast", "x is", "x is -5 % faster than y", "x is 0 times y", "x is 5 %% y", "x" * 700]
)
def test_what_claims_nothing_is_refused(text: str) -> None:
    with pytest.raises(SentenceError):
        parse(text)


# -- files -------------------------------------------------------------------------------------------------------------


def test_markdown_and_lines_are_read_as_toml_is() -> None:
    lines = "# Our claims\n\n- rate is at least 5 MB/s\n2. other is 104 MB/s.\n"
    head = "# Claims\n\n| id | claim | says |\n|---|:--|---|\n"
    page = head + "| x | fast \\| good | `rate is at least 5 MB/s` |\n|y|other is 104|\n"

    (of_lines, _), (of_page, _) = (parse_text(text, "f", is_markdown=text is page) for text in (lines, page))

    assert [claim.sentences for claim in of_lines.claims] == [("rate is at least 5 MB/s",), ("other is 104 MB/s.",)]
    assert [(claim.id, claim.text, claim.sentences) for claim in of_page.claims] == [
        ("x", "fast | good", ("rate is at least 5 MB/s",)),
        ("y", "other is 104", ("other is 104",)),
    ]


CLAIM = '[[claim]]\nsays = "x is 5"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "missing required field `claim`"),
        ("claim = []", "contains no claim"),
        ("x", "f.toml"),
        (CLAIM + "colour = 1", "unknown field `colour`"),
        ("mb = 'none'\n" + CLAIM, "Invalid enum value 'none'"),
        ("[[claim]]\nid = 'x'", "no 'text' and no 'says'"),
        (CLAIM + "undecidable = 'x'", "give one of them"),
        ("[[claim]]\nid='x'\nsays='x is 5'\n[[claim]]\nid='x'\nsays='x is 5'", "two claims have the id 'x'"),
        ("[tables]\nt = '/etc/passwd'\n" + CLAIM, "not a file next to this one"),
        ("[tables]\nt = '../t.csv'\n" + CLAIM, "not a file next to this one"),
        ("[tables]\n'a b' = 't.csv'\n" + CLAIM, "is not a name"),
        (CLAIM * 1001, "the limit is 1000"),
        ("x = " + "[" * 100 + "]" * 100, "nested more than"),
        (f"[[claim]]\ntext = '{'x' * 2001}'", "more than 2000 characters"),
        ("[[claim]]\nsays = [" + "'x is 5'," * 21 + "]", "the limit is 20"),
        ("[tables]\n" + "".join(f"t{i} = 't.csv'\n" for i in range(65)) + CLAIM, "the limit is 64"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_a_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=r"f\.toml") as refused:
        parse_toml(text, "f.toml")

    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_would_take_too_long_is_refused(small: dict[str, FactTable]) -> None:
    long = parse_csv("a\n" + "1\n" * 20_000, "t", "t.csv")
    many = "\n".join(["sum(a) + sum(a) + sum(a) is 5"] * 400)
    repeats = "\n".join(["rate[kind=a] is faster than rate[kind=b] over run"] * 1000)
    for text, table in ((many, {"t": long}), (f"{repeats}\n", small)):
        file, _ = parse_text(text, "claims.txt", is_markdown=False)
        claims = file.claims * 3
        with pytest.raises(InputError, match="take too long"):
            assess_claims(
                ClaimsFile("claims.txt", "", claims, table, Prefixes.BOTH, is_strict=False), nobody, "last", Meant()
            )
    # Each pair of so many repeats.
    wide = {"t": parse_csv("k,a\n" + "".join(f"{i % 2},{i + 1}\n" for i in range(500)), "t", "t.csv")}
    assert "the limit is 200 per side" in told("a[k=0] is higher than a[k=1] over n", wide).reason
    assert "200 values per side" in told("p(a[k=0], a[k=1]) is 5", wide).reason


def test_a_sentence_of_toml_that_is_not_understood_is_a_fault_of_the_file() -> None:
    file, _ = parse_toml("[[claim]]\nid = 'speed'\nsays = 'it flew'", "f.toml")

    with pytest.raises(InputError, match=r"f\.toml: claim speed: 'it flew': it has no 'is' with a value"):
        assess_claims(file, nobody, "last", Meant())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no rows"),
        ("a,b\n", "has no rows"),
        ("a,a\n1,2\n", "all different"),
        ("a,b\n1\n", "t.csv:2: has 1 cells"),
        ("a\n" + "x" * 1001, "t.csv:2: a cell has more than 1000 characters"),
        ("a\n" + "1\n" * 20_001, "the limit is 20000"),
        (",".join(f"c{i}" for i in range(201)) + "\n", "the limit is 200"),
    ],
)
def test_a_table_that_is_wrong_is_refused_in_a_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=r"t\.csv") as refused:
        parse_csv(text, "t", "t.csv")

    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["", "5", "[]", "{}", '{"data": []}', "[" * 200 + "]" * 200, "{'a': 1}", '{"a": NaN}'])
def test_json_that_has_no_facts_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"t\.json"):
        parse_json(text, "t", "t.json")


def test_a_table_beside_the_file_is_not_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a\n1\n")
    (tmp_path / "t.csv").symlink_to(tmp_path / "secret")
    claims = tmp_path / "claims.toml"
    claims.write_text("[tables]\nt = 't.csv'\n" + CLAIM)

    with pytest.raises(InputError, match="cannot read the table"):
        read_claims(str(claims))
    # A user who names the link means it.
    assert read_table(str(tmp_path / "t.csv"), "t").columns == ("a",)


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def make_arm() -> Callable[..., Arm]:
    """Make an arm of runs of small reads with known rates."""
    _, document = quick_run(LOADS[:3])
    result = next(r for r in document.results if r.trusted and (r.bytes or 0) < (r.ops or 0) * (64 << 10))

    def make(name: str, rates: Sequence[float], **changed: object) -> Arm:
        return Arm.of(name, list(_documents(document, result, name, rates, changed)))

    return make


def _documents(
    document: Document, result: Result, name: str, rates: Sequence[float], changed: dict[str, object]
) -> Iterator[Document]:
    for i, iops in enumerate(rates):
        own = Estimate(low=0.98 * iops, high=1.02 * iops, half_share=0.01, effective=20)
        given = {
            "iops": iops,
            "iops_interval": own,
            "throughput_bytes_per_s": 4096 * iops,
            "committed": None,
            **changed,
        }
        run = msgspec.structs.replace(document.run, id=f"{name}-{i}", started_utc=f"2026-11-25T00:{i:02d}:00Z")
        yield msgspec.structs.replace(document, run=run, results=(msgspec.structs.replace(result, **given),))


STEADY = [1e4, 1.002e4, 0.998e4, 1.001e4, 0.999e4]


def of_runs(says: str, **arms: Arm) -> AssessedSentence:
    """Judge a sentence about runs."""
    sentence = parse(says)
    about = against_runs.of_runs(sentence, "last")
    assert isinstance(about, OfRuns)
    return against_runs.assess(says, sentence, about, lambda side: arms[side.replace("tag:", "")], Meant())


@pytest.mark.parametrize(
    ("says", "verdict"),
    [
        ("iops of tag:five is at least 9,900 IOPS", SUPPORTED),
        ("iops of tag:five is at least 10,500", CONTRADICTED),
        ("iops of tag:five is at least 10,000 IOPS", NOT_DECIDABLE),
        ("rate of tag:five is between 38 and 40 MiB/s", SUPPORTED),
        ("throughput of tag:five is more than 40.5 MB/s", NOT_DECIDABLE),
        ("*read*: iops of tag:five is 10,000 IOPS", NOT_DECIDABLE),
        ("*read*: iops of tag:five is about 10,000 IOPS", SUPPORTED),
        ("write: iops of tag:five is about 10,000 IOPS", NOT_DECIDABLE),
        # One run: what its own window leaves open, 2 % to either side.
        ("iops of tag:one is at least 9,700 IOPS", SUPPORTED),
        ("iops of tag:one is at least 9,900 IOPS", NOT_DECIDABLE),
        ("iops of tag:one is at least 10,300 IOPS", CONTRADICTED),
        # Of another quantity, unit or cache state.
        ("p99 of tag:five is below 2", NOT_DECIDABLE),
        ("p99 of tag:five is below 2 MiB/s", NOT_DECIDABLE),
        ("iops of tag:five is below 2 ms", NOT_DECIDABLE),
        ("p99 of tag:five is below 1 s", SUPPORTED),
        ("iops of tag:cached is at least 9,000 IOPS", NOT_DECIDABLE),
        ("iops of tag:cached is at least 9,000 IOPS from page cache", SUPPORTED),
        ("iops of tag:cached is at least 9,000 IOPS as measured", SUPPORTED),
        ("iops of tag:five is at least 9,000 IOPS from page cache", NOT_DECIDABLE),
        ("iops of tag:doubtful is at least 9,000 IOPS", NOT_DECIDABLE),
        # Comparisons.
        ("tag:fast is faster than tag:five", SUPPORTED),
        ("tag:fast is 10 % faster than tag:five", SUPPORTED),
        ("iops of tag:fast is at least 5 % higher than tag:five", SUPPORTED),
        ("iops of tag:fast is at least 5 % higher than iops of tag:five", SUPPORTED),
        ("rate of tag:fast is slower than tag:five", CONTRADICTED),
        ("tag:fast is at least 20 % faster than tag:five", CONTRADICTED),
        ("tag:same is faster than tag:five", NOT_DECIDABLE),
        ("tag:same is as fast as tag:five", SUPPORTED),
        ("tag:fast is as fast as tag:five", CONTRADICTED),
        ("tag:one is faster than tag:fast", NOT_DECIDABLE),
        ("tag:cached is faster than tag:five", NOT_DECIDABLE),
        ("tag:fast is faster than tag:five from page cache", NOT_DECIDABLE),
        ("p50 of tag:fast is faster than tag:five", NOT_DECIDABLE),
        ("tag:five is faster than tag:five", NOT_DECIDABLE),
        ("iops of tag:fast is faster than /etc/passwd", NOT_DECIDABLE),
        ("iops of ../x is at least 5", NOT_DECIDABLE),
    ],
)
def test_a_sentence_about_runs_has_its_verdict(says: str, verdict: ClaimVerdict, make_arm: Callable[..., Arm]) -> None:
    no = Trust(level=TrustLevel.NO, reasons=(Reason(id="foreign-io", text="others used the device"),))
    arms = {
        "five": make_arm("five", STEADY),
        "same": make_arm("same", STEADY[::-1]),
        "fast": make_arm("fast", [1.1 * rate for rate in STEADY]),
        "one": make_arm("one", [1e4]),
        "cached": make_arm("cached", [9 * rate for rate in STEADY], measures=ServedBy.PAGE_CACHE),
        "doubtful": make_arm("doubtful", STEADY, trust=no, trusted=False),
    }

    found = of_runs(says, **arms)

    assert found.verdict is verdict, found.reason
    assert found.reason


def test_a_reason_names_what_stands_in_the_way(make_arm: Callable[..., Arm]) -> None:
    cached = make_arm("cached", STEADY, measures=ServedBy.PAGE_CACHE)
    five = make_arm("five", STEADY)

    assert "of page cache, the claim of storage" in of_runs("iops of tag:a is 5", a=cached).reason
    assert (
        "A is served by storage, B by page cache (A: five, B: cached)"
        in of_runs("tag:a is faster than tag:b", a=cached, b=five).reason
    )
    single = of_runs("tag:a is faster than tag:b", a=make_arm("one", [2e4]), b=five)
    assert "it needs 3 usable runs per side, not 1 usable run" in single.reason


def test_the_interval_of_three_runs_is_students(make_arm: Callable[..., Arm]) -> None:
    found = of_runs("iops of tag:a is at least 5", a=make_arm("a", [9e3, 1e4, 1.1e4]))

    # Of the logarithms: mean 9.20699, deviation 0.10038, t(0.975, 2) = 4.30265, so exp(9.20699 -+ 0.24936).
    assert found.computed is not None
    assert found.computed.interval == pytest.approx((7767.0, 12789.0), rel=1e-4)


def test_a_metric_alone_is_of_the_usual_run_and_of_the_tables_where_there_are_any(
    make_arm: Callable[..., Arm], small: dict[str, FactTable]
) -> None:
    five = make_arm("five", STEADY)

    def verdict(tables: dict[str, FactTable]) -> ClaimVerdict:
        claims = parse_text("rate is at least 9,000 IOPS", "claims.txt", is_markdown=False)[0].claims
        file = ClaimsFile("claims.txt", "", claims, tables, Prefixes.BOTH, is_strict=False)
        (claim,) = assess_claims(file, lambda side: {"/some/folder": five}[side], "/some/folder", Meant()).claims
        return claim.verdict

    assert [verdict({}), verdict(small)] == [SUPPORTED, NOT_DECIDABLE]


def test_a_claim_of_several_sentences_holds_if_all_do() -> None:
    def claim(*verdicts: ClaimVerdict) -> AssessedClaim:
        sentences = ", ".join(f"'{SAID[verdict]}'" for verdict in verdicts)
        file, _ = parse_toml(f"[[claim]]\nsays = [{sentences}]", "f.toml")
        tables = {"t": parse_csv(TABLE, "t", "t.csv")}
        (found,) = assess_claims(
            ClaimsFile("f.toml", "", file.claims, tables, Prefixes.BOTH, is_strict=True), nobody, "last", Meant()
        ).claims
        return found

    assert claim(SUPPORTED, SUPPORTED).verdict is SUPPORTED
    assert claim(SUPPORTED, NOT_DECIDABLE).verdict is NOT_DECIDABLE
    assert claim(NOT_DECIDABLE, CONTRADICTED, SUPPORTED).verdict is CONTRADICTED


SAID = {
    SUPPORTED: "max(rate) is 121 MB/s",
    CONTRADICTED: "max(rate) is 122 MB/s",
    NOT_DECIDABLE: "max(speed) is 122 MB/s",
}
