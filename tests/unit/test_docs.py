"""Whether the documentation is true: links lead somewhere, commands parse, pages made from code are up to date."""

import functools
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import typer
from msgspec.structs import fields
from typer.testing import CliRunner

from assay import events, results
from assay.analysis import thresholds
from assay.analysis.finding_pages import current_id, finding_pages, page_of
from assay.analysis.threshold_table import OF_LIMITER, threshold_table
from assay.bundle.tables import COLUMNS
from assay.cli import app
from assay.errors import EXIT_CODES
from assay.plan import OpKind
from assay.report import terminal_table
from assay.verdicts import Bottleneck, ComparisonVerdict, ServedBy, TrustLevel
from bench.reference.files import FILES

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`((?:src|engine|tests|bench|docs)/[\w./-]+)`")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENDS = "();<>|&\n"


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, by the rule of the forges: lower case, blanks to dashes, punctuation dropped."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_and_picture_of_a_page_is_there(page: Path) -> None:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))

    broken = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in _anchors(target)):
            broken.append(link)

    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    named = CODE.findall(page.read_text(encoding="utf-8"))

    # NAME stands for what the reader is about to write.
    assert [path for path in named if "NAME" not in path and not (ROOT / path).exists()] == []


def _command_lines(page: Path) -> Iterator[list[str]]:
    """Words after `assay` of each command in a page's fences of shell, up to what ends a command."""
    for language, body in FENCED.findall(page.read_text(encoding="utf-8")):
        if language != "sh":
            continue
        without_comments = re.sub(r"(?m)(^|\s)#.*$", "", body.replace("\\\n", " "))
        lexer = shlex.shlex(without_comments, posix=True, punctuation_chars=ENDS)
        lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
        words = list(lexer)
        for start, word in enumerate(words):
            if word == "assay" or word.endswith("/assay"):
                yield list(itertools.takewhile(lambda word: not set(word) <= set(ENDS), words[start + 1 :]))


def test_commands_are_found_in_shell_text(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nif a/assay ls --json > x; then  # assay no\n  jq 'a\nb' | assay show\nfi\n```\n")

    assert list(_command_lines(page)) == [["ls", "--json"], ["show"]]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_command_line_of_a_page_parses(page: Path) -> None:
    for words in _command_lines(page):
        parse(words)


@functools.cache
def commands() -> typer.core.TyperGroup:
    """Make the parser of all commands, once."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    return group


def parse(words: list[str]) -> None:
    """Parse a command line as the program would, and stop there; raises what the program would say."""
    group = commands()
    try:
        context = group.make_context("assay", list(words))
        rest = [*context._protected_args, *context.args]
        name, command, rest = group.resolve_command(context, rest)
        assert command is not None
        command.make_context(name, rest, parent=context)
    except typer.Exit:
        assert {"--help", "--version"} & set(words)


@pytest.mark.parametrize("words", [["quick"], ["quick", "/mnt", "--depth", "3"], ["quik", "/mnt"], ["diff", "last"]])
def test_a_command_line_that_the_program_refuses_would_be_seen(words: list[str]) -> None:
    with pytest.raises(Exception, match=r"Missing|No such"):
        parse(words)


@pytest.mark.parametrize("path", FILES)
def test_what_is_made_from_the_code_is_up_to_date(path: str) -> None:
    assert (ROOT / path).read_bytes() == FILES[path](), "make it anew: python -m bench.reference"


@pytest.mark.parametrize("page", ["README.md", "docs/reference/commands.md"])
def test_the_rule_of_the_exit_codes_is_told_in_the_words_of_the_code(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")

    assert not [code for code, words in EXIT_CODES.items() if f"| {code} | {words}" not in text]


def test_help_tells_the_exit_codes() -> None:
    shown = " ".join(CliRunner().invoke(app, ["--help"]).output.split())

    assert not [code for code, words in EXIT_CODES.items() if f"{code} {words}" not in shown]


def test_a_help_text_of_an_option_has_at_most_60_characters_before_its_default() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    commands = [group.get_command(typer.Context(group), name) for name in group.list_commands(typer.Context(group))]
    texts = {
        str(getattr(parameter, "help", None) or "").partition(" [default")[0]
        for command in commands
        if command is not None
        for parameter in command.params
    }

    assert "Exclude the first T from the results." in texts
    assert not [text for text in texts if len(text) > 60]


def test_the_glossary_names_what_is_printed() -> None:
    page = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| (.*?) \| ", page, re.MULTILINE)
    single = {part for term in terms for part in (term, *term.split(", "))}

    assert not [limit for limit in Bottleneck if f"{limit.words} (`{limit}`)" not in single]
    assert not [served.words for served in ServedBy if served.words not in single]
    assert not [verdict.words for verdict in ComparisonVerdict if verdict.words not in single]
    assert not [f"trust {level}" for level in TrustLevel if f"trust {level}" not in single]
    assert not [column.heading for column in terminal_table._ALL if column.heading not in single]
    assert [term for term in terms if term and terms.count(term) > 1 and term not in {"term", "---"}] == []


RESULT_PARTS = tuple(
    part for part in vars(results).values() if isinstance(part, type) and issubclass(part, results.Part)
)


@pytest.mark.parametrize("part", RESULT_PARTS, ids=lambda part: part.__name__)
def test_the_page_of_the_results_names_every_field(part: type[msgspec.Struct]) -> None:
    page = (ROOT / "docs/reference/results.md").read_text(encoding="utf-8")

    assert not [field.encode_name for field in fields(part) if f"`{field.encode_name}`" not in page]


def test_the_page_of_the_operations_names_every_kind() -> None:
    page = (ROOT / "docs/reference/operations.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)))

    assert sorted(named) == sorted(kind.value for kind in OpKind)


def test_the_page_of_the_events_names_every_line_and_field() -> None:
    page = (ROOT / "docs/reference/events.md").read_text(encoding="utf-8")

    for line in (*events.Event.__args__, *events.Control.__args__):
        assert f"`{line.__struct_config__.tag}`" in page
        assert not [field.encode_name for field in fields(line) if f"`{field.encode_name}`" not in page]


@pytest.mark.parametrize("table", COLUMNS)
def test_the_page_of_the_bundle_names_every_column(table: str) -> None:
    page = (ROOT / "docs/reference/bundle.md").read_text(encoding="utf-8")

    assert f"`{table}.parquet`" in page
    assert not [column for column in COLUMNS[table] if f"`{column}`" not in page]


FINDING_ID = re.compile(r"""\b(?:note|weak|warning|invalid|judged)\(\s*f?"([a-z]+(?:-[a-z]+)*)",""")
CONCERN_ID = re.compile(r"""=> (?:\{\s*)?\(\s*"([a-z]+(?:-[a-z]+)*)",""")
FINDING_FIELD = re.compile(r"""\bFinding\(id="([a-z]+(?:-[a-z]+)+)",""")


def emitted_ids() -> set[str]:
    """Ids that the analysis writes, and those that the engine's warnings get."""
    text = "\n".join(source.read_text(encoding="utf-8") for source in ROOT.glob("src/assay/analysis/**/*.py"))
    concerns = CONCERN_ID.findall((ROOT / "engine/src/warning_id.rs").read_text(encoding="utf-8"))
    assert {"io-uring-fallback", "stalled"} <= set(concerns)
    return {*FINDING_ID.findall(text), *FINDING_FIELD.findall(text), *map(current_id, concerns)}


def test_the_page_of_the_method_names_every_finding() -> None:
    page = (ROOT / "docs/method.md").read_text(encoding="utf-8")

    ids = emitted_ids()

    assert {"cache-state", "stalled", "foreign-io"} <= ids
    assert not sorted(name for name in ids if f"`{name}`" not in page)


def test_every_finding_has_a_paragraph_and_no_paragraph_is_of_another() -> None:
    paragraphs = [id_ for pages in finding_pages().values() for id_ in pages]

    assert sorted(paragraphs) == sorted(emitted_ids())


def test_an_earlier_id_is_of_one_finding_and_of_none_that_there_is() -> None:
    pages = {id_: page for of in finding_pages().values() for id_, page in of.items()}
    earlier = [old for page in pages.values() for old in page.was]

    assert len(set(earlier)) == len(earlier)
    assert not set(earlier) & set(pages)
    assert [current_id(id_) for id_ in ("cpus-busy", "cpu-contention", "no-such-id")] == [
        "cpu-contention",
        "cpu-contention",
        "no-such-id",
    ]
    assert page_of("cpus-busy") == pages["cpu-contention"]


def test_paragraphs_and_limiters_name_thresholds_that_there_are() -> None:
    named = {name for pages in finding_pages().values() for page in pages.values() for name in page.turns_on}
    named |= {name for names in OF_LIMITER.values() for name in names}

    assert not named - {threshold.name for threshold in threshold_table()}


def test_the_table_of_thresholds_has_all_of_them_with_a_meaning_each() -> None:
    table = {threshold.name: threshold for threshold in threshold_table()}

    assert {name: one.value for name, one in table.items()} == {
        name: value for name, value in vars(thresholds).items() if name.isupper()
    }
    assert not [name for name, one in table.items() if not one.meaning]
    # Two that one line sets.
    assert table["MEDIAN_LEVEL"].meaning == table["TAIL_LEVEL"].meaning


def test_findings_and_thresholds_are_no_more_than_a_reader_holds() -> None:
    """Sixty of each: a new one takes the place of another, or is a case of it."""
    assert sum(len(pages) for pages in finding_pages().values()) <= 60
    assert len(threshold_table()) <= 60


def test_warnings_that_are_looked_for_by_name_are_those_of_the_engine() -> None:
    concerns = CONCERN_ID.findall((ROOT / "engine/src/warning_id.rs").read_text(encoding="utf-8"))

    assert {events.CORRUPT_BLOCK, events.DIRECT_REFUSED, events.FOREIGN_FILE, events.IO_URING_FALLBACK} <= set(concerns)


def test_the_page_of_the_method_gives_every_threshold_as_it_is() -> None:
    page = (ROOT / "docs/method.md").read_text(encoding="utf-8")

    given = dict(re.findall(r"^\| `([A-Z_]+)` \| ([0-9.]+) \|", page, re.MULTILINE))

    names = [name for name in vars(thresholds) if name.isupper()]
    assert given == {name: f"{getattr(thresholds, name):g}" for name in names}
