"""`assay filebench -f FILE.f`: scripts in Filebench's workload language."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from assay.errors import InputError
from assay.plan import Origin, Plan
from assay.targets import Need, check_directory, directories
from assay.tools.filebench.loading import insert_personalities
from assay.tools.filebench.personality import Personality
from assay.tools.filebench.plan import to_plan
from assay.tools.filebench.randoms import help_of, list_of_types
from assay.tools.filebench.settings import Settings, parse, read_words
from assay.tools.front_end import FrontEnd, RunContext
from assay.tools.named_files import NO_FILES, Files, read_files


class Filebench(FrontEnd[Settings]):
    """Filebench: run a script in its workload language, 1.5 or 1.4, and print its statistics.

    \b
    assay filebench -f FILE.f
    assay filebench -c [CVARTYPE]   list the types of custom variables, or describe one
    --dir DIR           where the data goes, in place of the script's paths
                        [default: the working directory]
    --time SECONDS      duration, also where the script has no 'run'
    --set NAME=VALUE    set a variable of the script
    --scale SHARE       factor for file counts, sizes, working sets and counts to
                        finish on, such as 0.01 [default: 1]
    'load NAME' in a script of 1.4: fileserver, randomread, randomwrite,
    singlestreamread, singlestreamwrite, varmail, webproxy, webserver, in Assay's
    own words
    --wml 1.5           refuse what only 1.4 had [default: accept both]
    --allow-commands    allow commands ('system', '!') of a script that you trust
    --json  --no-report  --quiet  --strict  --runs DIR  --user NAME
    --name NAME  --tag TAG  --note TEXT  --live-json FILE  --require-trust LEVEL
    --wait-quiet TIME
                        as with every command that measures

    Standard output is Filebench's: the breakdown by flowop, and the summary. Deviations from the script are
    reported on standard error. See docs/tools/filebench.md.
    """  # noqa: D301 - click keeps the lines after this sign as they are

    name = "filebench"
    shims = ("filebench",)
    help_words = frozenset({"--help", "-h"})
    option_names: ClassVar[Mapping[str, str]] = {"size": "iosize", "direct": "directio"}
    room_cure = "use fewer or smaller files (--set, --scale)"

    def follow(self, words: Sequence[str], context: RunContext) -> int:
        """Describe custom variables, or read the script and run it."""
        wanted = read_words(words)
        if wanted.cvar_type is not None:
            text = help_of(wanted.cvar_type) if wanted.cvar_type else list_of_types()
            if not text:
                raise InputError(f"filebench: unknown custom variable type {wanted.cvar_type[:40]}; -c lists them")
            context.write(text)
            return 0
        files = read_files(self.name, [wanted.file], "script")
        return context.measure(
            words, {name: insert_personalities(text) for name, text in files.items()} if wanted.takes_old else files
        )

    def parse(self, words: Sequence[str], files: Files = NO_FILES) -> Settings:
        """Read the words of a run, and its script."""
        return parse(words, files)

    def to_plan(self, settings: Settings, origin: Origin, folder: Path) -> Plan:
        """Make the Plan."""
        return to_plan(settings.workload, settings.file, origin, check_directory(settings.directory))

    def needs(self, settings: Settings, plan: Plan) -> Iterable[Need]:
        """Count files that the run may create: each is an inode, and a fileset is never more than full."""
        inodes = _most_entries(settings.workload)
        return [Need(place, inodes=inodes) for place in directories(plan).values()]


def _most_entries(workload: Personality) -> int:
    return sum(files.entries + files.leaf_directories for files in workload.files.values())


FRONT_END = Filebench()
