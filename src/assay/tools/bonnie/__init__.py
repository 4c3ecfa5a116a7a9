"""`assay bonnie`: bonnie++'s command line, load and output."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from assay.plan import Origin, Plan
from assay.targets import Need, check_directory, directories
from assay.tools.bonnie import machine
from assay.tools.bonnie.plan import most_bytes, size_mib, to_plan
from assay.tools.bonnie.settings import Settings, choose_size, parse
from assay.tools.front_end import FrontEnd, RunContext
from assay.tools.named_files import NO_FILES, Files


class Bonnie(FrontEnd[Settings]):
    """Run bonnie++'s tests: one large file byte by byte and in blocks, random seeks, and many small files.

    \b
    The tool's own options:
      -d DIR       directory to work in [default: the current one]
      -s SIZE[:CHUNK[:SEEKS[:SEEKERS]]]
                   MiB (g, t) of the file, twice the RAM at least; 0: no such tests.
                   CHUNK: bytes of a transfer (k), a power of two [default: 8192]
      -n FILES[:MAX[:MIN[:DIRECTORIES[:CHUNK]]]]
                   small files / 1024 [default: 16]; 0: no such tests. Bytes of
                   each (k, m, g); MAX -1: hard links, -2: symbolic links
      -r MIB       RAM, for the check of sizes; 0: no check
      -f           no tests byte by byte; -fN: these over N MiB [default: 3]
      -b           flush after each rewritten block and each created file
      -D           direct I/O for block writes; needs -f
      -u USER[:GROUP], -g GROUP
                   who does the work; needed as root
      -m NAME      name of the machine in the output
      -c N         a label: concurrency
      -x N         measure N times; CSV lines alone
      -q           CSV alone on standard output, the table on standard error
      -p N         make semaphores for N runs; -1: remove them
      -y s|p       before each test wait for the semaphores, or for a line of input
      -z SEED, -Z FILE
                   seed of random choices: a number, or the content of a file

    \b
    Assay's options:
      --format 1.03|1.96|2.00
                   whose load and output [default: 2.00]
      --runs DIR, --user NAME, --json, --no-report, --quiet, --strict,
      --name NAME, --tag TAG, --note TEXT, --live-json FILE,
      --require-trust LEVEL, --wait-quiet TIME
    """  # noqa: D301 - click keeps the lines after this sign as they are

    name = "bonnie"
    shims = ("bonnie++", "bonnie")
    option_names: ClassVar[Mapping[str, str]] = {"size": "the chunk of -s", "direct": "-D"}
    room_cure = "use a smaller -s or -n"

    def parse(self, words: Sequence[str], files: Files = NO_FILES) -> Settings:
        """Read the command line."""
        return parse(words)

    def follow(self, words: Sequence[str], context: RunContext) -> int:
        """Make or remove the semaphores of -p; else one run."""
        settings = self.parse(words)
        if settings.semaphores is None:
            return context.measure(words)
        context.check_action("making and removing semaphores")
        machine.user(settings)
        context.write(f"{machine.semaphores(settings.semaphores)}\n")
        return 0

    def with_user(self, words: Sequence[str], user: str) -> Sequence[str]:
        """Give the user of `--user`, unless -u names one."""
        return words if self.parse(words).user is not None else ("-u", user, *words)

    def to_plan(self, settings: Settings, origin: Origin, folder: Path) -> Plan:
        """Make the Plan; size, user and seed are those of this machine and moment where the words leave them open."""
        return to_plan(
            choose_size(settings, machine.ram_mib()),
            origin,
            directory=check_directory(settings.directory),
            seed=machine.seed(settings),
            user=machine.user(settings),
        )

    def settings_of(self, plan: Plan) -> Settings:
        """Read the settings again, with the size that was executed."""
        settings = super().settings_of(plan)
        return settings if settings.size_mib is not None else dataclasses.replace(settings, size_mib=size_mib(plan))

    def needs(self, settings: Settings, plan: Plan) -> Iterable[Need]:
        """Compute what the larger of the two parts makes: the other is removed by then."""
        return [Need(place, most_bytes(settings)) for place in directories(plan).values()]


FRONT_END = Bonnie()
