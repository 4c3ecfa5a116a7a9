"""`assay vdbench`: vdbench's parameter files.

vdbench itself needs Java, may not be handed on, and is not run here. What is taken as its behaviour, and from where, is
in docs/tools/vdbench.md.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from assay.errors import InputError
from assay.plan import Origin, Plan
from assay.report.output import make_folder
from assay.tools.front_end import FrontEnd, HostsAsked, RunContext
from assay.tools.named_files import NO_FILES, Files
from assay.tools.vdbench.plan import to_plan
from assay.tools.vdbench.settings import NAME, Settings, files_of, parse


class Vdbench(FrontEnd[Settings]):
    """Run vdbench's parameter files: raw loads (sd, wd, rd) and file systems (fsd, fwd, rd), with rates and curves.

    \b
    assay vdbench -f FILE [FILE...] [-o DIR] [-e S] [-i S] [-w S]
                  [NAME=VALUE...] [+ PARAMETER...]
    assay vdbench -t | -tf

    \b
    -f FILE        parameter files, in order
    -t, -tf        run the built-in test of 5 seconds, raw or of files
    -o DIR         write summary.html and flatfile.html there
    -e S, -i S, -w S
                   elapsed, interval and warmup of every rd; 2m, 1h too
    NAME=VALUE     value of $NAME in the files
    + PARAMETER    parameters for every rd, such as + forthreads=(1,8)
    --dir DIR      put all luns and anchors into DIR; names, also of devices,
                   only distinguish them
    --size SIZE    size of each lun without one in the file
    --destroy-data DEV let workloads overwrite the block device that a lun
                   names; --over TYPE: a signature that may be on it

    \b
    Also: --runs DIR, --user NAME, --json, --no-report, --quiet,
    --strict, --name NAME, --tag TAG, --note TEXT, --live-json FILE,
    --require-trust LEVEL, --wait-quiet TIME.

    A lun names a file, an anchor a directory: data lies in assay-data next to
    it or in it, and what has the name is neither read nor written. A lun that
    is a block device is read; writes need --destroy-data. What is not
    supported is refused with its line. See docs/tools/vdbench.md.
    """  # noqa: D301 - click keeps the lines after this sign as they are

    name = NAME
    shims = (NAME,)
    help_words = frozenset({"-h", "--help"})
    option_names: ClassVar[Mapping[str, str]] = {"size": "xfersize", "direct": "openflags=o_direct"}
    room_cure = "give size=, files= or sizes= less"

    def follow(self, words: Sequence[str], context: RunContext) -> int:
        """Read the files, and execute them as one run."""
        return context.measure(words, files_of(words))

    def parse(self, words: Sequence[str], files: Files = NO_FILES) -> Settings:
        """Read words and parameter files."""
        return parse(words, files)

    def to_plan(self, settings: Settings, origin: Origin, folder: Path) -> Plan:
        """Make the Plan."""
        return to_plan(settings, origin)

    def hosts(self, settings: Settings) -> HostsAsked | None:
        """Name the hosts of hd= that are other machines."""
        return HostsAsked(by="hd=", names=settings.load.hosts) if settings.load.hosts else None

    def adds_clients_up(self, settings: Settings) -> bool:
        """Add them up, as vdbench does."""
        return True

    def output_names(self, settings: Settings) -> Sequence[str]:
        """Name the files of the folder that is asked for."""
        return (
            ()
            if settings.output is None
            else [str(Path(settings.output) / name) for name in ("summary.html", "flatfile.html")]
        )

    def check_outputs(self, settings: Settings) -> None:
        """Make the folder, and look whether its files can be written."""
        if settings.output is not None:
            if settings.output.endswith(("+", ".tod")):
                raise InputError(f"{NAME}: -o {settings.output}: name the folder itself; no number or date is appended")
            make_folder(Path(settings.output))
        super().check_outputs(settings)


FRONT_END = Vdbench()
