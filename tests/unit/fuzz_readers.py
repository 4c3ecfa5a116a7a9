"""Every reader of Assay, as a fuzzer has to know it."""

import dataclasses
import datetime as dt
import functools
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from assay import events
from assay.analysis.document import document
from assay.analysis.record import read
from assay.bundle import RunBundle
from assay.bundle.chosen import moment
from assay.bundle.client_set import Role
from assay.bundle.damage import report_damage
from assay.bundle.kept_marks import MARKS, MOST_MARKS, MarkGiven, add_mark, kept_mark, marks_of, read_marks
from assay.bundle.remarks import REMARKS, read_remarks, remarks_of, write_remarks
from assay.bundle.tables import HISTOGRAMS, HOST, INTERVALS, WORKERS, read_stream
from assay.campaign.campaign_file import parse as campaign_parse
from assay.campaign.design import design
from assay.campaign.journal import (
    JOURNAL,
    CampaignBegun,
    Effective,
    ImageNamed,
    MeasurementStarted,
    SchedulerFound,
    SlotBegun,
    SlotFailed,
    SlotMade,
    SlotMeasured,
    read_only,
)
from assay.campaign.journal import SCHEMA as CAMPAIGN_SCHEMA
from assay.claims.against_tables import Meant
from assay.claims.assessed import to_json as claims_json
from assay.claims.assessment import assess_claims
from assay.claims.claims_file import parse_json, parse_text, parse_toml
from assay.claims.fact_tables import parse_csv
from assay.cli.matrix import _outcome as campaign_outcome
from assay.cluster import plain_messages
from assay.cluster.client_rules import ClientRules
from assay.cluster.hosts import parse_hosts
from assay.cluster.join_file import CERTIFICATE, JOIN, KEY, new_join, read_join
from assay.cluster.wire import CARD, Card, card_of
from assay.compare.arms import Arm
from assay.decode.decodings import decodings, to_json
from assay.decode.given import read_given
from assay.decode.readers import read as read_captured
from assay.errors import AssayError, FrontEndError, InputError
from assay.importing import keep, originals
from assay.loads import native
from assay.loads.settings import settings
from assay.outward import json_text
from assay.plan import Plan
from assay.power_meter import parse_power_meter
from assay.report import matrix_text
from assay.tools import registry
from assay.tools.filebench.flowops import ATTRIBUTES, TYPES
from assay.tools.fio import plan_anywhere
from assay.tools.fio.option_table import OPTIONS
from assay.tools.named_files import NO_FILES, Files
from assay.tools.vdbench.keywords import FSD, FWD, GENERAL, HD, RD, SD, WD
from assay.units import parse_bytes, parse_seconds
from fuzzing.reader import Reader
from unit.bundle_streams import begun, encoded, plan, stream
from unit.forged_bundles import write_manifest
from unit.fuzz_capture_readers import READERS as CAPTURES
from unit.fuzz_further_readers import READERS as FURTHER
from unit.memory_run import hello

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden"
SOMEWHERE = Path("/somewhere")
GIVEN = read_given("1Gbit", "4GiB", "128GiB", "640MB/s")
ARGUMENTS = {
    "iozone": [
        "-a -g 4M -i 0 -i 1 -r 4k -s 64k",
        "-Rab x.xls -n 64k -g 1M -y 4k -q 64k -I -O",
        "-t 2 -F a b -s 1m -r 64k -i 0 -i 8",
        "-s 1m -r 4k -i 0 -i 5 -j 3 -J 10 -K -V 7 -P 1 -e -c -o -N -Q -f file",
    ],
    "bonnie": [
        "-d /tmp -u root -s 1024:8k -n 16:10k:1k:8 -m box -x 2 -r 512",
        "-f -b -D -z 7 -q -c 4 -d /tmp -u root",
        "-d . -u 1:1 -g 2 -s 64:1m:100:4 -n 1:-1:0:3:4k -r 0 -p 3 --format 1.96",
    ],
    "vxbench": [
        "-w rand_mixed -i iosize=8k,iocount=100,nthreads=2 -o sync -c rand file",
        "-w write -p 3 -i nrep=2 f1 f2",
        "-w aread,sleep,mmap_write -i stride=3,rdpct=10,sleeptime=1,startoffset=4k,maxfilesize=1m,depth=4,seed=9 -P -M -s f",
    ],
    "vdbench": ["-t -e 10 -i1 -w 2 + iorate=5", "-tf -o out --dir /tmp --size 10m +fwdrate=(1,2)"],
    "perfpl": ["4096 3 25 10 2 --mode fork --fsync --dir /tmp", "1 1 1 1 1", "35000 1 100 10 3 --sync --mode=native"],
    "fio": [
        "--name=x --size=1m --rw=randrw:1 --bssplit=4k/60:8k/,16k --iodepth=4 --ioengine=io_uring --fsync=4 --verify=md5",
        "--size 1g --runtime 5 --name=a --bs=4k,8k --filename=a:b --random_distribution=zoned:60/10:40/",
    ],
    "bigdir": ["1050 500 --dir /tmp --readdir-only", "10 5 --type dir --clients 2", "7 --files --dir=."],
}
CAPTURED = [
    b"v2c01,8G,81160,92,109588,38,89987,67,69763,88,113613,36,2635.7,67,16,687,10,+++++,+++,1517,9,647,10,+++++,+++,1569,8\n",
    b"""{"fio version": "fio-3.33", "global options": {"size": "1g"}, "jobs": [{"jobname": "a", "usr_cpu": 2.0,
    "sys_cpu": 9.5, "job options": {"numjobs": "2"},
    "read": {"total_ios": 9, "bw_bytes": 512, "iops": 1.5, "io_bytes": 4096}}]}""",
    b"ISO date,hosts,threads,direct IO,IO depth,operation,IOPS [last],MiB/s [last],MiB [last]\nx,2,8,0,1,READ,9000,29,163\n",
    b"""{"phase_type":"RWMIX70","config":{"path_type":"file","paths":"1","hosts":"1","threads":"8","file_size":"1048576",
    "direct_io":"false","io_depth":"4"},"last_done":{"iops":"3","bytes\\/s":"12","rwmix_read":{"iops":"7"}}}""",
    b"1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s\n",
]
IMPORTED = [path.read_bytes() for path in sorted((Path(__file__).parent / "imported").iterdir())]
METERS = [
    b"time,watts\n2026-05-22T16:09:38Z,120.5\n2026-05-22T16:09:39.5Z,121\n\n2026-05-22T18:09:41+02:00,0\n",
    b"id,Joules,Time\n1,1000,1795450257\n2,1120.25,1795450258.5\n3,1e4,1795450299\n",
]
CLAIMED_OF = {
    "t": parse_csv(
        "# unit: MB/s\n# n: 4\nkind,rate,wait_ms\na,100,2.0\na,101,2.1\na,99,1.9\nb,0,1e300\nb,x,\n", "t", "t.csv"
    ),
    "j": parse_json('{"data": {"a": {"b": [1, 2]}, "c": -5}}', "j", "j.json"),
}
CLAIMS = [
    b"""title = "x"
mb = "decimal"
[tables]
t = "t.csv"
[[claim]]
id = "one"
says = ["rate[kind=a] is faster than wait_ms[kind=b] by kind", "mean(t.rate[kind=a]) / j.c in MiB/s is 5 MiB/s"]
[[claim]]
text = "max(rate[kind!=b]) is between 1 and 200 MB/s over kind"
""",
    b"- a.b is about 5 % higher than c\n- rate[kind=a] is four orders of magnitude above n\nsettled(rate[kind=a]) is 5\n",
    b"| id | claim | says |\n|---|---|---|\n| x | good | p(rate[kind=a], rate[rate<101]) is < 0.05 |\n| y | c is 5 | |\n",
]
CLAIM_TABLES = [
    b'# unit: KB/s; x\n# n: 5\na,unit,c_ms\n1,MB/s,x\n2,"a,b",1e999\n',
    b'{"data": {"a": [1, 2], "b": {"c": 1}}}',
    b'[{"id": "x", "low": 1}, {"id": "y", "high": [1]}]',
]
NOON = dt.datetime(2026, 11, 24, 12, tzinfo=dt.UTC)
SAID = [
    b'{"schema": "assay.remarks/1", "name": "baseline", "tags": ["nvme", "old-2.1"], "note": "before\\nthe update"}',
    b'{"schema": "assay.remarks/1", "name": null, "tags": [], "note": ""}',
]
MARKED = [
    b'{"schema": "assay.marks/1", "marks": [{"t_ns": 12500000000, "label": "disk \\"3\\" pulled", "given": "user"}]}',
    b'{"schema": "assay.marks/1", "marks": [{"t_ns": 0, "label": "x", "given": "afterwards"}]}',
]
LINES = encoded(stream(3)).splitlines()
CARD_OF_CLIENT = msgspec.json.encode(Card(name="a", role=Role.LOAD, assay_version="1", token="0" * 32, hello=hello()))
POSTMARK = (
    b"set size number seed transactions location subdirectories read write buffering bias create report verbose terse true "
    b"false run load show help quit"
).split()
PARAMETERS = [
    *(name.encode() for kind in (GENERAL, HD, SD, WD, FSD, FWD, RD) for name in kind),
    *b"(1k-64k,d) (1-9,2) curve max seq random eof default sd= wd= rd= fsd= fwd= hd= 100% 99999999999 $x !y #host".split(),
]
FIO_WORDS = [b"${SIZE}", b"include more.fio", b"[global]", *(name.encode() for name in sorted(OPTIONS))]
VALUES = {"size": "1GiB", "files": "20", "phase_seconds": "2.5"}


FLOWOPS = [*(f"flowop {name}".encode() for name in TYPES), *(f"{name}=".encode() for name in sorted(ATTRIBUTES))]


def words_of_page(name: str) -> list[bytes]:
    """Give the words that a page of the reference writes as code."""
    page = (ROOT / "docs" / "reference" / name).read_text()
    return sorted({word.encode() for word in re.findall(r"`([^`\n]{1,40})`", page)})


# -- texts -------------------------------------------------------------------------------------------------------------


def load_file(data: bytes) -> object:
    """Read a load file, with the values of its parameters."""
    text = data.decode(errors="replace")
    values = {name: value for name, value in VALUES.items() if f"${{{name}}}" in text}
    return native.parse(text, "fuzz.toml", directory=SOMEWHERE, settings=values)


def setting(data: bytes) -> object:
    """Read words of `--set`, `--time` and `--size`."""
    text = (GOLDEN / "native" / "parameters.toml").read_text()
    words = data.decode(errors="replace").split("\n")
    values = settings(
        text, "fuzz.toml", words[:-2], time=words[-2] if len(words) > 1 else None, size=words[-1], repeat=1
    )
    return native.parse(text, "fuzz.toml", directory=SOMEWHERE, settings=values)


def scaled(data: bytes) -> object:
    """Read a load file and what it says of its scale."""
    text = data.decode(errors="replace")
    return native.scaled_parameters(text, "fuzz.toml", 0.01, given=())


def captured(data: bytes) -> object:
    """Read what another tool printed."""
    tool, figures = read_captured(data.decode(errors="replace"), "fuzz")
    return to_json(decodings(tool, figures, GIVEN))


def imported(data: bytes) -> object:
    """Keep what another tool printed as runs, and work out what they came to."""
    Path("given").write_bytes(data)
    runs = Path("imported")
    try:
        kept = [keep(original, runs, ("assay", "import", "given")) for original in originals("given")[:3]]
        return [judge(RunBundle.open(bundle.path)) for bundle in kept]
    finally:
        shutil.rmtree(runs, ignore_errors=True)


def meter(data: bytes) -> object:
    """Read what a power meter read."""
    return parse_power_meter(data.decode(errors="replace"), "fuzz")


def quantity(data: bytes) -> object:
    """Read sizes and times as people write them."""
    text = data.decode(errors="replace")
    try:
        parse_bytes(text)
    except AssayError:
        return parse_seconds(text)
    return None


def since(data: bytes) -> object:
    """Read a date, or how long ago something was."""
    return moment(data.decode(errors="replace"), NOON)


def nobody(side: str) -> Arm:
    """Refuse to gather runs."""
    raise InputError(f"no run is called '{side}' here")


def claims_file(data: bytes) -> object:
    """Read claims in each of their forms, and judge them."""
    text = data.decode(errors="replace")
    is_toml = text.startswith(("title", "[", "mb"))
    file, _ = parse_toml(text, "fuzz.toml") if is_toml else parse_text(text, "fuzz.md", is_markdown=True)
    found = assess_claims(dataclasses.replace(file, tables=CLAIMED_OF), nobody, "last", Meant())
    return claims_json(found)


def claimed_table(data: bytes) -> object:
    """Read a table that claims are held to."""
    text = data.decode(errors="replace")
    return parse_json(text, "t", "t.json") if text.startswith(("{", "[")) else parse_csv(text, "t", "t.csv")


# -- documents ---------------------------------------------------------------------------------------------------------


def plan_json(data: bytes) -> object:
    """Read a Plan; what is taken comes back as it was."""
    plan = Plan.from_json(data)
    assert Plan.from_json(plan.to_json()) == plan
    return plan


def event_line(data: bytes) -> object:
    """Read a line of the event stream."""
    try:
        return events.decode(data)
    except msgspec.DecodeError as error:
        raise InputError(str(error)) from error


# -- tools -------------------------------------------------------------------------------------------------------------


def tool(name: str) -> Reader:
    """The words after the name of a tool, as far as the Plan that they mean."""
    front_end = registry.front_end(name)
    options = re.findall(r"(?<![\w-])--?[\w+-]+|\b\w+=", front_end.help)

    def words(data: bytes) -> object:
        asked = data.decode(errors="replace").replace("\0", " ").split()
        made = front_end.parse(asked)
        assert front_end.words(front_end.source(asked)) == asked
        return made

    return Reader(name, [line.encode() for line in ARGUMENTS[name]], words, [word.encode() for word in options])


def postmark(data: bytes) -> object:
    """Follow commands from a file, as far as the words of each run."""
    Path("commands").write_bytes(data.replace(b"/", b"_"))  # what `run FILE` writes stays in this folder
    front_end = registry.front_end("postmark")

    class Context:
        def measure(self, asked: Sequence[str], files: Files = NO_FILES) -> int:
            front_end.parse(asked, files)
            return 0

        def write(self, text: str) -> None:
            assert isinstance(text, str)

        def may_write(self, name: str) -> bool:
            return "/" not in name

        def check_action(self, what: str) -> None:
            raise AssertionError(what)

    return front_end.follow(["commands"], Context())


CAMPAIGN = """
name = "c"
repeats = 2
scheduler = ["none", "bfq"]
[loop]
folder = "/var/tmp"
size = "1GiB"
direct_io = true
[[file_system]]
kind = "ext4"
mkfs = "-O ^has_journal -b 4096"
mount = { plain = "noatime", journal = "noatime,data=journal" }
[[file_system]]
kind = "xfs"
mount = ["noatime", "noatime,logbsize=256k"]
[[load]]
name = "read"
command = "measure {dir} --read"
[[load]]
name = "fio"
command = "fio --name=a --directory={dir} --rw=read --size=1m --output={dir}/out"
[[load]]
name = "post"
command = "postmark {input}"
input = '''
set location {dir}
run {dir}/report
quit
'''
"""


def campaign_file(data: bytes) -> object:
    """Read the file of a campaign, as far as what its loads ask for."""
    return campaign_parse(data.decode(errors="replace"), "c.toml")


def _journal() -> bytes:
    """Write a journal as somebody does who has no key."""
    campaign = campaign_parse(CAMPAIGN, "c.toml")
    effective = Effective(
        mount_options=("rw",), scheduler="none", direct_io=None, super_block={"a": "b"}, not_taken=("x",)
    )
    lines = (
        CampaignBegun(schema=CAMPAIGN_SCHEMA, campaign=campaign, design=design(campaign), key="ab", device=None),
        ImageNamed(name="assay-c-0123456789abcdef.img"),
        SchedulerFound(disk="loop0", scheduler="none", diskseq=3, boot_id="x"),
        SlotBegun(slot=1, mark="c.ab.1.abcdef"),
        SlotMade(slot=1, effective=effective),
        MeasurementStarted(slot=1, process=3, started_ticks=4, boot_id="x"),
        SlotMeasured(slot=1, run_id="run", exit_code=0, seconds=2.5),
        SlotFailed(slot=2, why="no"),
    )
    texts = (msgspec.json.encode(line).decode() for line in lines)
    return "".join(f'{{"of":{text},"mac":"{"0" * 64}"}}\n' for text in texts).encode()


def campaign_journal(data: bytes) -> object:
    """Read a stranger's journal as `assay matrix --show` does."""
    folder = Path("campaign")
    folder.mkdir(exist_ok=True)
    (folder / JOURNAL).write_bytes(data)
    shown = read_only(folder)
    if shown.lines and shown.is_own:
        raise AssertionError("nobody has the key")
    outcome = campaign_outcome(shown.lines, Path("runs"))
    return json_text(msgspec.json.encode(outcome).decode()), matrix_text.lines(outcome, outcome.rows)


def parameter_file(data: bytes) -> object:
    """Read a parameter file of vdbench, as far as the Plan that it means."""
    front_end = registry.front_end("vdbench")
    words = ["-f", "fuzz.vdb", "--dir", "/", "--size", "1m"]
    settings = front_end.parse(words, {"fuzz.vdb": data.decode(errors="replace")})
    return front_end.to_plan(settings, front_end.origin(["fuzz"]), SOMEWHERE)


def filebench(data: bytes) -> object:
    """Read a script, as far as the Plan that it means; what is wrong with it is told with the file's name."""
    front_end = registry.front_end("filebench")
    text = data.decode(errors="replace")
    first, _, rest = text.partition("\n")
    options, script = (first.split(), rest) if first.startswith("--") else (["--time", "1", "--allow-commands"], text)
    asked, files = ["-f", "fuzz.f", *options], {"fuzz.f": script}
    try:
        settings = front_end.parse(asked, files)
    except FrontEndError as error:
        if not str(error).startswith("fuzz.f:"):
            raise AssertionError(str(error)) from error
        raise
    return front_end.to_plan(settings, front_end.origin(asked, files), Path.cwd())


def fio_job_file(data: bytes) -> object:
    """Read a job file of fio, with one that it includes, as far as its Plan."""
    front_end = registry.front_end("fio")
    words, files = ["fuzz.fio", "${SIZE}=1m"], {"fuzz.fio": data.decode(errors="replace"), "more.fio": "bs=8k"}
    settings = front_end.parse(words, files)
    made = plan_anywhere(settings, words, files)
    assert front_end.settings_of(made) == settings
    assert Plan.from_json(made.to_json()) == made
    return made


# -- bundles -----------------------------------------------------------------------------------------------------------


@functools.cache
def bundle_folder(*, is_sealed: bool) -> Path:
    """Make a bundle in the folder of this process, once."""
    bundle = begun(Path.cwd())
    if is_sealed:
        bundle.seal()
    return bundle.path


def judge(bundle: RunBundle) -> object:
    """Work out what a run measured, as every command does that shows it."""
    with report_damage(bundle.path):
        return document(read(bundle))


TABLES: dict[str, Callable[[RunBundle], object]] = {
    f"{INTERVALS}.parquet": RunBundle.intervals,
    f"{HISTOGRAMS}.parquet": RunBundle.histograms,
    f"{WORKERS}.parquet": RunBundle.workers,
    f"{HOST}.parquet": RunBundle.host,
}


def forged(name: str) -> Callable[[bytes], object]:
    """Read a sealed bundle in which a file, and whatever hash is of it, is another."""

    def opened(data: bytes) -> object:
        folder = bundle_folder(is_sealed=True)
        kept = _kept(folder, name)
        if name == "manifest.json":
            write_manifest(folder, data)
        else:
            (folder / name).write_bytes(data)  # its hash is not looked at below
        try:
            bundle = RunBundle.open(folder)
            if name in TABLES:
                TABLES[name](bundle)  # first: most are refused, and what is not changed need not be read for that
            return judge(bundle)
        finally:
            if name == "manifest.json":
                write_manifest(folder, kept)
            else:
                (folder / name).write_bytes(kept)

    return opened


def changed_since(data: bytes) -> object:
    """Read a sealed bundle of which any file was changed by whoever could not change its hash."""
    told, _, content = data.partition(b"\n")
    folder = bundle_folder(is_sealed=True)
    names = file_names(folder)
    name = told.decode() if told.decode(errors="replace") in names else names[len(data) % len(names)]
    kept = _kept(folder, name)
    (folder / name).write_bytes(content)
    try:
        bundle = RunBundle.open(folder)
        bundle.verify()
        assert content == kept or name == "maker.hmac", f"nobody sees that {name} is another"
    finally:
        (folder / name).write_bytes(kept)
    return bundle


def file_names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def unsealed(name: str) -> Callable[[bytes], object]:
    """Read a bundle that died, one file of which is another."""

    def opened(data: bytes) -> object:
        folder = bundle_folder(is_sealed=False)
        kept = _kept(folder, name)
        (folder / name).write_bytes(data)
        try:
            return judge(RunBundle.open(folder))
        finally:
            (folder / name).write_bytes(kept)

    return opened


@functools.cache
def _kept(folder: Path, name: str) -> bytes:
    return (folder / name).read_bytes()


def bundle_readers() -> list[Reader]:
    """Make a reader for each file of a bundle, sealed, unsealed and forged."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = begun(Path(folder))
        dead = {name: (bundle.path / name).read_bytes() for name in file_names(bundle.path)}
        bundle.seal()
        whole = {name: (bundle.path / name).read_bytes() for name in file_names(bundle.path)}
    of_any_run = [name for name in whole if name == "resolved.json" or name.startswith("events/") or "parquet" in name]
    of_events = words_of_page("events.md")
    forgeries = ("manifest.json", "resolved.json", "events/0.json", *TABLES)
    remains = ("run.json", "resolved.json", "events/0.ndjson")
    return [
        Reader("sealed", [f"{name}\n".encode() + whole[name] for name in of_any_run], changed_since),
        *(
            Reader(f"forged {name}", [whole[name]], forged(name), of_events, share=1 / len(forgeries))
            for name in forgeries
        ),
        *(
            Reader(f"unsealed {name}", [dead[name]], unsealed(name), of_events, share=1 / len(remains))
            for name in remains
        ),
    ]


def marks(data: bytes) -> object:
    """Read the marks of a stranger's run; what is taken stays when another is added."""
    folder = bundle_folder(is_sealed=False)
    try:
        (folder / MARKS).write_bytes(data)
        found = read_marks(folder)
        assert found == marks_of(folder)
        if len(found) < MOST_MARKS:
            added = kept_mark(1, "added", MarkGiven.AFTERWARDS)
            add_mark(folder, added)
            assert sorted(read_marks(folder), key=repr) == sorted((*found, added), key=repr)
    finally:
        (folder / MARKS).unlink()
    return found


def remarks(data: bytes) -> object:
    """Read what a stranger said of a run; what is taken comes back as it was."""
    folder = bundle_folder(is_sealed=False)
    try:
        (folder / REMARKS).write_bytes(data)
        said = read_remarks(folder)
        write_remarks(folder, said)
        assert read_remarks(folder) == said == remarks_of(folder)
    finally:
        (folder / REMARKS).unlink()
    return said


JOINS = [
    msgspec.json.encode(new_join("tls://192.0.2.1:4711", is_encrypted=True)),
    msgspec.json.encode(new_join("tls://[2001:db8::7]:4711", is_encrypted=True)),
    msgspec.json.encode(new_join("tcp://127.0.0.1:4711", is_encrypted=False)),
]


def join_file(data: bytes) -> object:
    """Read what a leader is said to have written; the PEMs beside it are there under their usual names."""
    for name, content in ((JOIN, data), (CERTIFICATE, b""), (KEY, b"")):
        Path(name).touch(mode=0o600)
        Path(name).write_bytes(content)
    try:
        return read_join(Path(JOIN))[0].leader
    except FileNotFoundError:  # of a PEM by another name; of the join file itself it is waited for
        return None


def hosts_file(data: bytes) -> object:
    """Read a file of hosts, of the user's own and of somebody who may name hosts alone."""
    found = []
    for mode in (0o600, 0o666):
        Path("hosts").write_bytes(data)
        Path("hosts").chmod(mode)
        try:
            found.append(parse_hosts("./hosts"))
        except InputError:
            if mode == 0o600:
                raise
    assert not any(host.python or host.user or host.port for hosts in found[1:] for host in hosts)
    return found


def message(data: bytes) -> object:
    """Read what a client or a leader sends, and what of it would be who joins."""
    try:
        said = plain_messages.decode(data)
        return card_of(said["extra"][CARD]) if isinstance(said, dict) and "extra" in said else said
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(str(error)) from error


def client_stream(data: bytes) -> object:
    """Read a stream that a client gives, and hold it against what a run of its Plan can have come to."""
    Path("events").mkdir(exist_ok=True)
    Path("events/a.ndjson").write_bytes(data)
    found = read_stream(Path(), "events/a.ndjson")
    rules, meanwhile = (ClientRules(plan(), lambda: 10**10) for _ in range(2))
    try:
        for event in found.events:
            meanwhile.take(event)
        rules.check_whole(found, is_complete=True, relayed=meanwhile)
    except ValueError as error:
        raise InputError(str(error)) from error
    return found


HOSTS = [
    b"# lab\nnode[01-16,20] user=me\nb=10.0.0.7 port=22 python=/opt/a/python\nlocal\n",
    b"a\nb=2001:db8::1\nlocal:3\n",
]
MESSAGES = [
    msgspec.msgpack.encode({"op": "assay-said", "run_id": "r", "lines": LINES, "number": 1, "is_over": False}),
    msgspec.msgpack.encode([{"op": "assay-alive"}, {"op": "x", "n": [1, -1, 2**40, 1.5, None], "t": {"a": "b"}}, 7]),
    msgspec.msgpack.encode({"op": "register-worker", "extra": {CARD: CARD_OF_CLIENT}}),
]
SCALED = """name = "scaled"
[parameters]
size = "1GiB"
files = 1000
phase_seconds = "30s"
[scale]
size = "10MiB"
files = 20
phase_seconds = "3s"
"""


def files_of(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(GOLDEN.glob(pattern))]


SCRIPTS = files_of("classic/filebench/*.f")
READERS = {
    reader.name: reader
    for reader in [
        Reader(
            "load file",
            files_of("native/*.toml"),
            load_file,
            [*words_of_page("load-file.md"), *words_of_page("operations.md")],
        ),
        Reader("scale", [SCALED.encode()], scaled, words_of_page("load-file.md")),
        Reader(
            "--set",
            [b"block=8KiB\nfiles=20\ndepth=4\n30s\n1GiB", b"files=1\ntitle=x\ndirect=false\n10s\n64MiB"],
            setting,
        ),
        Reader("quantity", [b"64KiB", b"1.5 GiB", b"30s", b"2min", b"100", b"4KiB"], quantity),
        Reader("--since", [b"2026-11-24", b"2026-11-24T08:30:00+01:00", b"30min", b"3h", b"2d", b"1w"], since),
        Reader("marks", MARKED, marks, [b'"t_ns"', b"assay.marks/1", b"user", b"null"]),
        Reader("remarks", SAID, remarks, [b'"schema"', b"assay.remarks/1", b"last", b"null"]),
        Reader("captured output", CAPTURED, captured, [b"path_type", b"rwmix_read", b"1e999", b"RWMIX99+s+r"]),
        Reader(
            "claims",
            CLAIMS,
            claims_file,
            [b"in MB/s", b"at most", b"over ", b"by ", b"1e99", b"[kind=*]", b"- 1", b"'x'"],
        ),
        Reader("claimed table", CLAIM_TABLES, claimed_table, [b"NaN", b"# unit: s", b"1e999", b"-0"]),
        Reader(
            "imported output",
            IMPORTED,
            imported,
            [
                b"[INVALID]",
                b"<!DOCTYPE x>",
                b"avg_2-5",
                b"label,unit,a",
                b"us p99",
                b"GiB/s",
                b"clat_ns",
                b"bw_bytes",
                b"1e999",
            ],
            share=0.2,
        ),
        Reader("meter", METERS, meter, [b"watts", b"joules", b"time", b"2026-05-22", b"1e999", b"nan", b"-1"]),
        Reader(
            "join file", JOINS, join_file, [b"tls://", b"[::1]", b"127.0.0.1", b"null", b":0", b"..", b"/etc/passwd"]
        ),
        Reader(
            "hosts file",
            HOSTS,
            hosts_file,
            [b"user=", b"port=", b"python=", b"[1-9]", b"local:", b"=", b"#"],
            share=0.2,
        ),
        Reader(
            "message", MESSAGES, message, [b"\xdd", b"\xdf", b"\xc9", b"__Pickled__", b"\xff\xff\xff\xff"], share=0.2
        ),
        Reader("client's stream", [encoded(stream(3))], client_stream, words_of_page("events.md"), share=0.2),
        Reader("Plan", [*files_of("native/*.json"), *files_of("classic/*/*plan.json")], plan_json),
        Reader("event", LINES, event_line, words_of_page("events.md")),
        *(tool(name) for name in ARGUMENTS),
        Reader("campaign", [CAMPAIGN.encode()], campaign_file, words_of_page("commands.md")),
        Reader(
            "journal", [_journal()], campaign_journal, [b'"slot"', b'"mac"', b"slot_measured", b"../", b"null", b"-1"]
        ),
        Reader("postmark", files_of("classic/postmark/*.pm"), postmark, POSTMARK),
        Reader("vdbench file", files_of("classic/vdbench/*.vdb"), parameter_file, PARAMETERS),
        Reader(
            "filebench", [*SCRIPTS, b"--time 5 --set mails=3 --scale 0.5 --wml 1.5\n" + SCRIPTS[1]], filebench, FLOWOPS
        ),
        Reader("fio job file", files_of("classic/fio/*.fio"), fio_job_file, FIO_WORDS),
        *bundle_readers(),
        *FURTHER,
        *CAPTURES,
    ]
}
