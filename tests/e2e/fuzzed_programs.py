"""Command lines, files, environments and input of the whole program, changed at random: what a case is, and its folder.

Everything that a case names lies in its folder `work`, where it is run; a word that is cut short leads to folders above it,
which nobody but root can write. So whatever is written elsewhere was written by mistake.
"""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fuzzing.mutator import WORDS, Mutator
from unit.fuzz_readers import ARGUMENTS, ROOT, files_of

LOAD = b"""
name = "small"
reserve = "1MiB"
[[file_set]]
name = "data"
files = 4
size = "64KiB"
[[phase]]
name = "mixed"
title = "reading"
seconds = "0.2s"
[[phase.job]]
workers = 2
op = { op = "read", set = "data", access = "random", size = "4KiB" }
[[phase]]
name = "made"
[[phase.job]]
loop = [{ op = "stat", set = "data" }, { think = "1ms" }]
stop = { passes = 20 }
"""
CAMPAIGN = b"""
name = "c"
[loop]
folder = "{out}"
size = "300MiB"
[[file_system]]
kind = "ext4"
[[load]]
name = "read"
command = "measure {dir} --read"
"""
SCRIPT = b"""
define fileset name=data,path={measured},entries=10,filesize=4k,prealloc
define process name=p,instances=1 {
  thread name=t,instances=1 { flowop openfile name=o,filesetname=data,fd=1 flowop closefile name=c,fd=1 }
}
run 1
"""
NAMED = {
    "load": ("load.toml", LOAD, "native/*.toml"),
    "job": ("job.fio", b"[global]\nsize=64k\nbs=4k\n[x]\nrw=randread\ndirectory={measured}\n", "classic/fio/*.fio"),
    "parameters": (
        "load.vdb",
        b"sd=sd1,lun={measured}/f,size=64k\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=9,elapsed=2\n",
        "classic/vdbench/*.vdb",
    ),
    "script": ("script.f", SCRIPT, "classic/filebench/*.f"),
    "campaign": ("campaign.toml", CAMPAIGN, ""),
    "claims": ("claims.md", b"- mixed/read.iops is 5\n| id | claim | says |\n|---|---|---|\n| x | y | a is 5 |\n", ""),
    "imported": ("printed.txt", b"1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s\n", ""),
    "meter": ("meter.csv", b"time,watts\n2026-05-22T16:09:38Z,120.5\n2026-05-22T16:09:39Z,121\n", ""),
}
"""Files that words name: by the name of their place, their own name, what is in them, and what else is changed."""
ASKED = b"set location {measured}\nset size 100 1000\nset number 5\nset transactions 9\nshow\nrun {out}/said\nquit\n"
COMMANDS = (
    "quick {measured} --time 1s --size 4MiB --no-report",
    "quick {measured} --json --runs {runs}",
    "run {load} {measured} --no-report --repeat 2",
    "run {load} {measured} --json --set files=3 --time 1s --size 1MiB --user 65534",
    "run {load} {measured} --runs {out}/runs --allow-commands",
    "run quick {measured} --time 1s --size 1MiB --no-report",
    "run",
    "suites",
    "show {run}",
    "show {run} --json --runs {runs}",
    "show {run} --classic",
    "report {run} -o {out}/report.html",
    "export {run} --charts {out}/charts --format svg",
    "export {run} --files {out}/files",
    "export {run} -o {out}/run.tar.gz",
    "ls --json",
    "ls --runs {runs}",
    "rerun {run} --yes --no-report",
    "rerun {run} --json",
    "diff {run} {other} --all",
    "clean {measured}",
    "clean {run} --keep-kept",
    "doctor {measured}",
    "doctor",
    "shims {out}/bin",
    "shims {out} --remove",
    "iozone -s 64 -r 4 -i 0 -i 1 -f {measured}/file --no-report",
    "iozone -a -n 4k -g 64k -y 4k -q 16k -Rb {out}/sheet.xls -f {measured}/file --no-report",
    "iozone -t 2 -s 64k -r 4k -i 0 -F {measured}/a {measured}/b -x -Q --no-report",
    "bonnie -d {measured} -r 0 -s 1 -n 0 --no-report",
    "bonnie -d {measured} -r 0 -s 0 -n 1:100:10:2 -q -m box -z 3 --json",
    "postmark {asked} --no-report",
    "postmark",
    "vxbench -w write,read -i iosize=4k,iocount=4 {measured}/file --no-report",
    "vxbench -w rand_mixed,sleep -i iosize=4k,iocount=8,sleeptime=0.1,nthreads=2 -c rand -M -v {measured}/f --no-report",
    "perfpl 4096 2 6 3 1 --dir {measured} --no-report",
    "perfpl 512 1 4 2 2 --mode fork --sync --dir {measured}",
    "bigdir 20 5 --dir {measured} --no-report",
    "bigdir 20 5 --files --clients 2 --readdir-only --dir {measured} --json",
    "measure {measured} --time 1s --size 1MiB --write --random --no-report",
    "fio --name=x --directory={measured} --size=64k --bs=4k --output={out}/fio.txt --no-report",
    "fio {job} --no-report",
    "vdbench -f {parameters} -o {out}/vdbench --dir {measured} --no-report",
    "filebench -f {script} --time 1s --scale 0.001 --no-report",
    "explain {run}",
    "compare {run} {other} --html {out}/comparison.html",
    "compare {run} {other} --json --region small:file<=64K --weights 64K:0.5,1M:0.5",
    "ab {load} quick --on {measured} --rounds 1",
    "claims {claims}",
    "claims {claims} --json --runs {runs}",
    "decode {imported} --link 1Gbit --ram 4GiB",
    "import {imported} --tag old --name first --timezone Europe/Berlin",
    "tag {run} --name best --tag nvme --note x",
    "tag {run} --untag nvme",
    "mark pulled --run {run} --at 1s",
    "matrix {campaign} --show",
    "matrix {campaign} --state {out}/campaign",
    "show {run} --energy {meter}",
    "clean --kept 720h",
    "man",
    "completion bash",
    "--help",
    "--version",
    "bonnie --help",
)
"""Of every command but those that reach other machines, with the places of a case between braces."""
VARIABLES = (
    *(
        "HOME",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
        "ASSAY_RUNS",
        "ASSAY_ENGINE",
        "TMPDIR",
        "PATH",
        "COLUMNS",
        "LINES",
        "TERM",
    ),
    *("LANG", "LC_ALL", "TZ", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "SHELL", "USER", "LANGUAGE", "SUDO_USER"),
    *("EDITOR", "PAGER", "BROWSER", "DISPLAY", "EMAIL", "PWD"),
)
"""That programs of the kind look up."""
_VALUES = (
    "",
    "0",
    "-1",
    "1",
    "3",
    "80",
    "99999999999",
    "C",
    "POSIX",
    "en_US.UTF-8",
    "de_DE",
    "xterm",
    "dumb",
    "{home}",
    "{out}",
)
_MOST_WORD_BYTES = 100_000
"""The kernel takes 128 KiB."""
_MOST_WORDS_BYTES = 1_000_000


@dataclass(frozen=True)
class Case:
    """One run of the program."""

    number: int
    words: tuple[bytes, ...]
    env: dict[bytes, bytes | None]
    """On top of what a case has anyway; None: not set."""
    stdin: bytes | None
    """None: nobody is there."""
    output: str
    """`pipe`, `full` (a disk without room) or `closed` (a pipe whose reader has left)."""
    changed_files: tuple[str, ...] = field(default=())
    """That were changed."""

    def __str__(self) -> str:
        """For a failure: what it takes to see it again, and what it was."""
        shown = b" ".join(self.words)[:600]
        return f"case {self.number}: {shown!r}, {self.env!r}, changed {self.changed_files}, output {self.output}"


class Cases:
    """Makes cases, and the folder of each."""

    def __init__(self, seed: int, bundles: dict[str, Path]) -> None:
        """Know what there is to change.

        Args:
            seed: The same one gives the same cases.
            bundles: Runs, by name, as they were made.
        """
        self._seed, self._bundles = seed, bundles
        tools = [f"{name} {line}" for name, lines in ARGUMENTS.items() for line in lines]
        options = (ROOT / "docs" / "reference" / "commands.md").read_text().split()
        words = {word.strip("[],.").encode() for word in options if word.startswith("-")}
        places = [b"{measured}", b"{run}", b"{out}", b"{home}", b"{runs}", b"{asked}", b"last", b"quick"]
        places += [b"{%s}" % name.encode() for name in NAMED]
        self._lines = Mutator([line.encode() for line in (*COMMANDS, *tools)], sorted({*words, *places}))
        self._named = {
            place: Mutator([plain, plain, *(files_of(pattern) if pattern else ())])
            for place, (_, plain, pattern) in NAMED.items()
        }
        self._asked = Mutator([ASKED, *files_of("classic/postmark/*.pm")])
        self._files: dict[tuple[str, str], Mutator] = {}

    def case(self, number: int, work: Path) -> Case:
        """Make a case and what it finds in its folder, which is there and empty."""
        chance = random.Random(f"program {self._seed} {number}")  # noqa: S311 - the same cases again
        changed = list(self._lay_out(work, chance))
        places = {name.encode(): os.fsencode(work / name) for name in ("measured", "out", "home", "runs")}
        places |= {place.encode(): name.encode() for place, (name, _, _) in NAMED.items()} | {b"asked": b"asked.pm"}
        runs = sorted(path.name for path in (work / "runs").iterdir())
        places |= {b"run": chance.choice(runs).encode(), b"other": chance.choice(runs).encode()}
        # What finds nothing wrong in its words has to find it in the files: half of the cases do.
        line = chance.choice(COMMANDS).encode() if chance.random() < 0.5 and changed else self._lines.changed(chance)
        words = [_filled(word, places).replace(b"\0", b"")[:_MOST_WORD_BYTES] for word in line.split()]
        while sum(map(len, words)) + 8 * len(words) > _MOST_WORDS_BYTES:
            del words[len(words) // 2 :]
        env: dict[bytes, bytes | None] = {}
        for _ in range(chance.choice((0, 0, 0, 1, 2))):
            value = chance.choice((*_VALUES, None)) if chance.random() < 0.6 else chance.choice(WORDS)
            told = value.encode() if isinstance(value, str) else value
            env[chance.choice(VARIABLES).encode()] = (
                None if told is None else _filled(told, places).replace(b"\0", b"")[:_MOST_WORD_BYTES]
            )
        stdin = chance.choice((None, None, b"", b"y\n", _filled(self._asked.changed(chance), places)))
        output = chance.choice((*["pipe"] * 18, "full", "closed"))
        return Case(number, tuple(words), env, stdin, output, tuple(changed))

    def _lay_out(self, work: Path, chance: random.Random) -> Iterator[str]:
        """Make the files of a case; yields the names of those that were changed."""
        for name in ("measured", "out", "home", "runs"):
            (work / name).mkdir()
        texts = [(name, plain, self._named[place]) for place, (name, plain, _) in NAMED.items()]
        for name, plain, mutator in (*texts, ("asked.pm", ASKED, self._asked)):
            is_changed = chance.random() < 0.4
            text = mutator.changed(chance) if is_changed else plain
            for place in ("measured", "out"):
                text = text.replace(b"{%s}" % place.encode(), bytes(work / place))
            (work / name).write_bytes(text)
            if is_changed:
                yield name
        for name, source in self._bundles.items():
            folder = work / "runs" / source.name
            shutil.copytree(source, folder)
            if chance.random() < 0.4:
                yield f"{name}/{self._spoil(name, folder, chance)}"
        if chance.random() < 0.2:
            yield self._plant(work, chance)

    def _spoil(self, name: str, folder: Path, chance: random.Random) -> str:
        """Change a file of a bundle, and mostly the hashes that would tell."""
        files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        file = chance.choice(files)
        key = (name, file)
        if key not in self._files:
            self._files[key] = Mutator([(folder / file).read_bytes()])
        data = self._files[key].changed(chance)
        (folder / file).write_bytes(data)
        manifest = folder / "manifest.json"
        if manifest.exists() and chance.random() < 0.8:
            if file not in {"manifest.json", "manifest.sha256"}:
                told = json.loads(manifest.read_bytes())
                told["files"][file] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                manifest.write_text(json.dumps(told))
            seal = hashlib.sha256(manifest.read_bytes()).hexdigest()
            (folder / "manifest.sha256").write_text(f"{seal}  manifest.json\n")
        return file

    def _plant(self, work: Path, chance: random.Random) -> str:
        """Put something in the way: what a program may find where it wants to make its own."""
        data = work / "measured" / "assay-data"
        place = chance.choice(
            (data, data / "data", data / ".assay-lock", data / "data" / ".assay-set.json", work / "runs" / "catalog.sqlite",
             work / "out" / "bin", work / "out" / "report.html", work / "home" / "data", work / "measured" / "file")
        )  # fmt: skip
        place.parent.mkdir(parents=True, exist_ok=True)
        kind = chance.choice(("link", "loop", "fifo", "folder", "text", "closed"))
        match kind:
            case "link":
                # Loved, and of the same owner: only who follows a link changes it. What the words name may be a link.
                is_named = work / "out" in place.parents or work / "home" in place.parents
                target = work / "home" if is_named else work.parent / "loved" / chance.choice(("", "file"))
                place.symlink_to(target)
            case "loop":
                place.symlink_to(place.name)
            case "fifo":
                os.mkfifo(place)
            case "folder":
                place.mkdir()
            case "text":
                place.write_bytes(chance.choice(WORDS))
            case _:
                place.mkdir(mode=0)
        return f"{place.relative_to(work)} is a {kind}"


def _filled(text: bytes, places: dict[bytes, bytes]) -> bytes:
    for name, path in places.items():
        text = text.replace(b"{" + name + b"}", path)
    return text
