"""Make the sample outputs of the documentation anew, each by the command that the page tells of: none is written by hand.

`python -m bench.samples DIR` measures DIR, which takes some five minutes, and writes what was printed into README.md and
some pages of docs, below each `<!-- sample: NAME -->`. Names of the directory, of the machine and of the runs' folder are
replaced by ones that a reader can take for theirs; no number is touched. fio has to be installed. Names of samples after
DIR: only these.
"""

import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from bench.terminal import printed

ROOT = Path(__file__).parents[1]
PAGES = tuple(
    ROOT / page
    for page in (
        "README.md",
        "docs/tutorial.md",
        "docs/tutorial-suite.md",
        "docs/how-to/cache-states.md",
        "docs/how-to/keep-track.md",
    )
)
BLOCK = re.compile(r"(<!-- sample: ([a-z -]+) -->\n```text\n)(.*?)(```\n)", re.DOTALL)
COLUMNS, LINES = 100, 30
SHOWN_DIRECTORY, SHOWN_HOST, SHOWN_RUNS = "/mnt/scratch", "vm", "~/.local/share/assay/runs"
_FIO_LINES = re.compile(r"^ +read: IOPS|^ +lat \(|^ +READ: bw", re.MULTILINE)
FIO = "fio --name=read --filename={file} --size=256m --rw=read --bs=1m --invalidate=0 --time_based --runtime=5"


class Scene:
    """A directory that is measured, and what the commands of the pages print there."""

    def __init__(self, directory: Path, work: Path) -> None:
        """With a folder `work` for runs and load files."""
        self._directory = directory
        self._work = work
        self._runs = work / "runs"

    @cache  # noqa: B019 - there is one scene
    def output(self, *words: str, columns: int = COLUMNS) -> str:
        """Give what `assay WORDS` prints on a terminal of some columns, errors too where that is all."""
        command = [str(Path(sys.executable).with_name("assay")), *words]
        print("assay", *words, file=sys.stderr)
        env = {"ASSAY_RUNS": str(self._runs), "NO_COLOR": "1", "XDG_CONFIG_HOME": str(self._work / "config")}
        told = printed(command, (columns, LINES), env=env, cwd=self._work)
        return self._as_a_readers(told.text or told.beside)

    def _as_a_readers(self, text: str) -> str:
        for own, shown in (
            (str(self._directory), SHOWN_DIRECTORY),
            (str(self._runs), SHOWN_RUNS),
            (socket.gethostname(), SHOWN_HOST),
            (str(Path(sys.executable).parent), "/opt/assay/bin"),
        ):
            text = text.replace(own, shown)
        return "".join(f"{line.rstrip()}\n" for line in text.splitlines())

    def quick(self) -> str:
        """Give the output of the main job."""
        return self.output("quick", str(self._directory))

    def from_memory(self) -> str:
        """Give what Assay says of a read that memory serves."""
        words = ("--read", "--bs", "1m", "--size", "256m", "--cache", "as-is", "--time", "5s")
        return self.output("measure", str(self._directory), *words)

    def fio(self) -> str:
        """Give what fio says of the same."""
        file = self._directory / "assay-samples-fio"
        try:
            command = FIO.format(file=file).split()
            print(*command, file=sys.stderr)
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        finally:
            file.unlink(missing_ok=True)
        return "\n".join(line for line in told.splitlines() if _FIO_LINES.match(line)) + "\n"

    def own_load(self, *words: str) -> str:
        """Give the output of the load file that the tutorial has its reader write."""
        self._write_loads()
        return self.output("run", "random-8k.toml", str(self._directory), *words)

    def bad_load(self) -> str:
        """Give what is said of a mistake in it."""
        self._write_loads()
        return self.output("run", "bad.toml", str(self._directory))

    def _write_loads(self) -> None:
        page = (ROOT / "docs" / "tutorial.md").read_text()
        (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
        (self._work / "random-8k.toml").write_text(text)
        (self._work / "bad.toml").write_text(text.replace("queue_depth =", "queue_deep ="))

    def own_suite(self) -> str:
        """Give the output of the suite that tutorial-suite.md has its reader write."""
        self._write_suite()
        return self.output("run", "photos", str(self._directory), "--scale", "0.1")

    def own_suite_shown(self) -> str:
        """Give what is said of that suite."""
        self._write_suite()
        return self.output("suites", "show", "photos")

    def _write_suite(self) -> None:
        (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "tutorial-suite.md").read_text(), re.DOTALL)
        folder = self._work / "config" / "assay" / "suites"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "photos.toml").write_text(text)

    def difference(self) -> str:
        """Give what `assay diff` says of two runs of it."""
        self.own_load()
        first = self._newest()
        self.own_load("--set", "depth=32")
        return self.output("diff", first, self._newest())

    def _newest(self) -> str:
        return max(path.name for path in self._runs.iterdir() if path.is_dir() and "random-8k" in path.name)

    def cached(self) -> str:
        """Give the output of the example with none, half and all of a file in memory."""
        return self.output("run", "cache-cold-half-warm", str(self._directory))

    def runs(self) -> str:
        """Give the list of two of the runs, one of which has a name."""
        self.from_memory()
        self.own_load()
        self.output("tag", "last~1", "--name", "baseline", "--tag", "nvme")
        lines = self.output("ls", columns=80).splitlines()
        return "\n".join(lines[: 2 + 2 * 2]) + "\n"

    def doctor(self) -> str:
        """Give what the machine can measure."""
        return self.output("doctor", str(self._directory))

    def clean(self) -> str:
        """Give what is said where nothing is left."""
        return self.output("clean", str(self._directory))


def head(printed: str) -> str:
    """Cut out what stands above the table."""
    return printed.partition("\n\n")[0] + "\n"


def table(printed: str, rows: int | None = None) -> str:
    """Cut out the table, or its first rows."""
    lines = printed[printed.index("   operation") :].partition("\n\n")[0].splitlines()
    return "\n".join(lines if rows is None else lines[: 2 + 2 * rows]) + "\n"


def findings(printed: str, most: int) -> str:
    """Cut out the first findings."""
    found = [part for part in printed.split("\n\n") if part.startswith(("warning", "weak", "invalid"))]
    return "\n\n".join(found[:most]) + "\n"


def answer(printed: str) -> str:
    """Cut out the last lines."""
    return printed.rstrip().rpartition("\n\n")[2] + "\n"


SAMPLES: dict[str, Callable[[Scene], str]] = {
    "doctor": Scene.doctor,
    "quick head": lambda scene: head(scene.quick()),
    "quick rows": lambda scene: table(scene.quick(), 4),
    "quick findings": lambda scene: findings(scene.quick(), 2),
    "quick answer": lambda scene: answer(scene.quick()),
    "quick in short": lambda scene: "\n".join((head(scene.quick()), table(scene.quick()), answer(scene.quick()))),
    "fio from memory": Scene.fio,
    "assay from memory": lambda scene: "\n".join((table(scene.from_memory()), answer(scene.from_memory()))),
    "own load": lambda scene: table(scene.own_load()),
    "bad load": Scene.bad_load,
    "own suite shown": lambda scene: head(scene.own_suite_shown()),
    "own suite": lambda scene: "\n".join((table(scene.own_suite()), answer(scene.own_suite()))),
    "difference": Scene.difference,
    "clean": Scene.clean,
    "cached": lambda scene: table(scene.cached()),
    "runs": Scene.runs,
}


def with_samples(text: str, scene: Scene, names: Sequence[str]) -> str:
    """Put the samples of some names into a page."""

    def block(found: re.Match[str]) -> str:
        return f"{found[1]}{SAMPLES[found[2]](scene)}{found[4]}" if found[2] in names else found[0]

    return BLOCK.sub(block, text)


def main() -> None:
    """Measure the directory of the command line and write the pages."""
    directory, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="assay-samples-") as work:
        scene = Scene(Path(directory).resolve(strict=True), Path(work))
        written = [(page, with_samples(page.read_text(), scene, names or list(SAMPLES))) for page in PAGES]
    for page, text in written:
        page.write_text(text)


if __name__ == "__main__":
    main()
