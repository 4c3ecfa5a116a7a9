"""`assay iozone`: IOzone's own command line."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from assay import __version__
from assay.plan import Origin, Plan
from assay.targets import Need
from assay.tools.front_end import FrontEnd, HostsAsked, RunContext
from assay.tools.iozone import banner, checks
from assay.tools.iozone.options import client_file, options_of, parse
from assay.tools.iozone.plan import to_plan
from assay.tools.iozone.settings import Settings
from assay.tools.named_files import NO_FILES, Files, read_files


class IOzone(FrontEnd[Settings]):
    """Run an IOzone command line, and print what IOzone prints.

    \b
    What to measure
      -i N          test 0 to 12, again for more; none: all
                    0 write, rewrite     1 read, reread   2 random read, write
                    3 backward read      4 record rewrite 5 stride read
                    6 fwrite             7 fread          8 mix (with -t)
                    9 pwrite, 10 pread, 11 pwritev, 12 preadv (with -E)
      -a            automatic: every file size with every record size
      -z            ... the small records of large files too
      -n -g SIZE    ... smallest and largest file (64k, 512m)
      -y -q SIZE    ... smallest and largest record (4k, 16m)
      -s -r SIZE    file and record size; again for more. KiB, or k, m, g
      -f FILE       where the file is; -w leaves it for the next run
    Several children
      -t N          throughput of N children; -l N -u M: of every number
      -F FILE...    a file for each (after -t);  -T: threads
      -+m FILE      children on other machines: a line each, 'host directory
                    program'; Assay's workers are started there
      -x            do not stop when the first is done;  -C: a line per child
    How
      -e -c         fsync and close are timed too
      -I -o         O_DIRECT, O_SYNC;  -+D: O_DSYNC
      -B            mmap;  -G: ... with msync after each record
      -H N, -k N    N records in flight
      -j N -J MS    stride in records; compute MS before each record
      -K -V N -P N  jump now and then; verify; bind from CPU N on
    What to print
      -R -b FILE    reports; a worksheet, .xls or .xlsx
      -O -N         operations per second, microseconds per operation
      -v -h         the version; this help
      -Q            latency files wol.dat, rwol.dat, rol.dat, rrol.dat

    Assay's own options: --runs DIR, --user NAME, --json, --no-report, --quiet,
    --strict, --name NAME, --tag TAG, --note TEXT, --live-json FILE, --require-trust LEVEL,
    --wait-quiet TIME. The data lies in Assay's folder next to FILE, and findings go to standard error.
    """  # noqa: D301 - click keeps the lines after this sign as they are

    name = "iozone"
    shims = ("iozone",)
    option_names: ClassVar[Mapping[str, str]] = {"size": "-r", "chunk": "-r", "direct": "-I"}
    help_words = frozenset({"--help", "-h"})
    room_cure = "ask for smaller files"

    def follow(self, words: Sequence[str], context: RunContext) -> int:
        """Print the version, or read the file of -+m, and execute the words as one run."""
        if "-v" in words:
            context.write(banner.version_text(__version__))
            return 0
        named = client_file(options_of(words))
        return context.measure(words, read_files(self.name, [named] if named else [], "file of clients"))

    def hosts(self, settings: Settings) -> HostsAsked | None:
        """Name the clients of -+m that have children."""
        if settings.clients is None:
            return None
        (count,) = settings.counts
        return HostsAsked(
            by="-+m", names=settings.clients.hosts(count), directories=settings.clients.directories(count)
        )

    def parse(self, words: Sequence[str], files: Files = NO_FILES) -> Settings:
        """Read the command line, and the file of -+m."""
        return parse(words, files)

    def to_plan(self, settings: Settings, origin: Origin, folder: Path) -> Plan:
        """Make the Plan."""
        return to_plan(settings, origin, Path.cwd())

    def output_names(self, settings: Settings) -> Sequence[str]:
        """Name the worksheet of -b and the latency files of -Q."""
        return settings.output_files()

    def check(self, settings: Settings, plan: Plan) -> None:
        """Look for directories, for files that are to be read, and whether output files can be written."""
        checks.check_surroundings(settings, plan)

    def needs(self, settings: Settings, plan: Plan) -> Iterable[Need]:
        """List what the tests write themselves."""
        return checks.needs(settings, plan)


FRONT_END = IOzone()
