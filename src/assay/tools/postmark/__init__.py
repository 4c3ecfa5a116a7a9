"""`assay postmark [FILE]`: PostMark's command language, prompt and report."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.errors import InputError
from assay.plan import Origin, Plan
from assay.targets import Need, check_directory, directories
from assay.tools.front_end import FrontEnd, RunContext
from assay.tools.named_files import NO_FILES, Files
from assay.tools.postmark.commands import parse
from assay.tools.postmark.conversation import Conversation, append
from assay.tools.postmark.plan import peak_bytes, to_plan
from assay.tools.postmark.settings import Settings

BANNER = "PostMark v1.51 : 8/14/01"
OWN_FILE = ".pmrc"


class PostMark(FrontEnd[Settings]):
    """PostMark: small files made, read, appended to and deleted, as a mail server does.

    FILE holds commands, one a line; without it .pmrc of the current directory is read, if it is there. What 'quit' does not
    end goes on at a prompt. 'help' lists the commands, 'show' what is set, 'run' measures. docs/tools/postmark.md lists what
    differs from the original.

    Assay's own options: --runs DIR, --user NAME, --json, --no-report, --quiet, --strict, --name NAME, --tag TAG,
    --note TEXT, --live-json FILE, --require-trust LEVEL, --wait-quiet TIME.
    """

    name = "postmark"
    shims = ("postmark",)
    not_for_clients = (
        "its transactions are a list in a file of this machine, and lists are not handed to clients; run it on each, or use"
        " a load that defines its operations by rules, such as mail-server"
    )
    room_cure = "set fewer or smaller files ('set number', 'set size'), or another location"

    def follow(self, words: Sequence[str], context: RunContext) -> int:
        """Follow the commands of a file, then those of a prompt; each `run` is one."""
        if len(words) > 1:
            raise InputError(f"postmark {' '.join(words)}: give one file of commands, or none for a prompt")
        conversation = Conversation(context)
        context.write(f"{BANNER}\n")
        named = words[0] if words else OWN_FILE if Path(OWN_FILE).exists() else None
        if named is None or not conversation.read(named):
            conversation.prompt()
        return conversation.exit_code

    def parse(self, words: Sequence[str], files: Files = NO_FILES) -> Settings:
        """Read the commands of one run."""
        return parse(words)

    def source(self, words: Sequence[str]) -> str:
        """Write a command a line."""
        return "\n".join(words)

    def words(self, source: str) -> Sequence[str]:
        """Read what `source` wrote."""
        return source.splitlines()

    def to_plan(self, settings: Settings, origin: Origin, folder: Path) -> Plan:
        """Make the Plan and its lists of operations."""
        return to_plan(settings, origin, self.measured_places(settings, folder), folder)

    def measured_places(self, settings: Settings, folder: Path) -> list[Path]:
        """Name those of `set location`: the Plan needs lists of every operation."""
        named = [place.directory for place in settings.locations] or [os.curdir]
        return [check_directory(name) for name in named]

    def output_names(self, settings: Settings) -> Sequence[str]:
        """Name the file that `run` names."""
        return (settings.report,) if settings.report else ()

    def check_outputs(self, settings: Settings) -> None:
        """Check that the report can be written; print PostMark's error if not."""
        if settings.report:
            append(settings.report)

    def needs(self, settings: Settings, plan: Plan) -> Iterable[Need]:
        """What the files take when they take most."""
        places = directories(plan)
        counts = plan.origin.counts
        return [Need(places[one.target], int(counts.get(peak_bytes(one.name), 0))) for one in plan.file_sets]


FRONT_END = PostMark()
