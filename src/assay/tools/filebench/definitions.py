"""What a script defines, looked up at its run: files, processes, threads, flowops and composite flowops."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from assay import plan
from assay.errors import FrontEndError
from assay.plan.limits import NUMBERS
from assay.tools.arguments import cut
from assay.tools.filebench.flowops import ATTRIBUTES, TYPES
from assay.tools.filebench.personality import Body, Composite, FilesetFiles, Flowop, Note, Process, Thread
from assay.tools.filebench.scope import Scope, by_name_of
from assay.tools.filebench.statements import Attribute, Attributes, FlowopStatement, Statement, ThreadStatement

STRICT: Final = "1.5"
"""The version without what only 1.4 had."""
_MEMORY = "/dev/shm"  # noqa: S108 - a path of a script, which nothing is written to
_MOST_INSTANCES = int(NUMBERS["workers"].most)
_MOST_FILES = int(NUMBERS["files"].most)
_MOST_FLOWOPS = 10_000
_DEEPEST = 8
_NO_SIZE = 1 << 10

_FILE = frozenset(
    {
        "name",
        "path",
        "size",
        "filesize",
        "prealloc",
        "paralloc",
        "reuse",
        "trusttree",
        "readonly",
        "writeonly",
        "cached",
    }
)
_FILESET = _FILE | {"entries", "dirwidth", "dirgamma", "dirdepthrv", "leafdirs"}
_PROCESS = frozenset({"name", "instances", "nice"})
_THREAD = frozenset({"name", "instances", "memsize", "useism", "ioprio"})
_COMPOSITE = frozenset({"name"})


@dataclasses.dataclass(frozen=True)
class Overrides:
    """What the command line sets in addition to the script."""

    seconds: float | None = None
    """Of the run, in place of the script's value."""
    settings: tuple[tuple[str, str], ...] = ()
    """Variables, in place of what the script sets."""
    scale: float = 1.0
    """Of entries, sizes of single files, and counts to finish on."""
    wml: str = ""
    """`1.5`: refuse what only 1.4 had."""
    allows_commands: bool = False


class Definitions:
    """The definitions of a script, whose variables have their last values."""

    def __init__(self, scope: Scope, overrides: Overrides, composites: Mapping[str, Statement]) -> None:
        """Start with the composite flowops that are defined, by name."""
        self._source = scope.source
        self._scope = scope
        self._overrides = overrides
        self._composites = composites
        self._flowops = 0
        self.names: dict[str, None] = {}
        """Of all flowops that threads use, in the order of their definition."""
        self.notes: dict[Note, None] = {}

    def _refuse(self, line: int, text: str) -> NoReturn:
        raise FrontEndError(self._source, line, text)

    def _note(self, what: str, why: str) -> None:
        self.notes[Note(what, why)] = None

    # -- files ---------------------------------------------------------------------------------------------------------

    def files(self, statements: Sequence[Statement]) -> dict[str, FilesetFiles]:
        """Make the files and filesets."""
        found: dict[str, FilesetFiles] = {}
        for command in statements:
            made = self._one_file(command)
            if made.name in found:
                self._refuse(
                    command.line, f"near 'name={cut(made.name)}': a file or fileset of this name is defined already"
                )
            found[made.name] = made
        return found

    def _one_file(self, command: Statement) -> FilesetFiles:
        is_file = command.kind == "define_file"
        scope, by_name = self._scope, by_name_of(command.attributes)
        what = "file" if is_file else "fileset"
        scope.check_names(by_name, _FILE if is_file else _FILESET, what)
        if "cached" in by_name and self._overrides.wml == STRICT:
            self._refuse(by_name["cached"].line, "syntax error near 'cached': 1.5 does not have it; leave it out")
        for name in ("name", "path"):
            if name not in by_name:
                self._refuse(command.line, f"near 'define {what}': it has no {name}; give it one, {name}=...")
        path = scope.text(by_name["path"])
        if (path == "/dev" or path.startswith("/dev/")) and not path.startswith(_MEMORY):
            self._refuse(by_name["path"].line, f"near 'path={cut(path)}': devices are not written to; use a directory")
        if "dirdepthrv" in by_name:
            self._refuse(
                by_name["dirdepthrv"].line, "near 'dirdepthrv': a random depth is not made; give dirwidth alone"
            )

        def flag(name: str) -> bool:
            return name in by_name and scope.boolean(by_name[name])

        def count(name: str, default: int) -> int:
            return scope.number(by_name[name], 0, _MOST_FILES) if name in by_name else default

        size_at = by_name.get("size") or by_name.get("filesize")
        size: plan.Distribution = scope.drawn(size_at) if size_at else plan.Fixed(value=float(_NO_SIZE))
        width = by_name.get("dirwidth")
        scale = self._overrides.scale
        entries, leaves = (1, 0) if is_file else (count("entries", 0), count("leafdirs", 0))
        if is_file and isinstance(size, plan.Fixed):
            size = plan.Fixed(value=float(_scale(int(size.value), scale)))
        return FilesetFiles(
            name=scope.text(by_name["name"]),
            line=command.line,
            path=path,
            is_file=is_file,
            entries=entries if is_file else _scale(entries, scale),
            leaf_directories=_scale(leaves, scale),
            size=size,
            width=scope.number(width, 0) if width else 0,
            is_random_width=count("dirgamma", 1500) > 0,
            existing_share=scope.percent(by_name["prealloc"]) if "prealloc" in by_name else 0.0,
            is_reused=flag("reuse"),
            is_trusted=flag("trusttree"),
            is_parallel=flag("paralloc"),
            is_cold="cached" in by_name and not flag("cached"),
        )

    # -- processes -----------------------------------------------------------------------------------------------------

    def process(self, command: Statement, files: Mapping[str, FilesetFiles]) -> Process:
        """Make a process."""
        by_name = by_name_of(command.attributes)
        self._scope.check_names(by_name, _PROCESS, "process")
        name, instances = self._instances(by_name, command.line, "process")
        if "nice" in by_name and self._scope.number(by_name["nice"], -20, 19):
            self._note(f"nice (line {by_name['nice'].line})", "all processes run at the priority of the command")
        threads = tuple(self._thread(thread, files) for thread in command.threads)
        return Process(name=name, line=command.line, instances=instances, threads=threads)

    def _instances(self, by_name: Mapping[str, Attribute], line: int, what: str) -> tuple[str, int]:
        if "name" not in by_name:
            self._refuse(line, f"near '{what}': it has no name; give it one, name=...")
        instances = self._scope.number(by_name["instances"], 1, _MOST_INSTANCES) if "instances" in by_name else 1
        return self._scope.text(by_name["name"]), instances

    def _thread(self, thread: ThreadStatement, files: Mapping[str, FilesetFiles]) -> Thread:
        by_name = by_name_of(thread.attributes)
        self._scope.check_names(by_name, _THREAD, "thread")
        name, instances = self._instances(by_name, thread.line, "thread")
        if "ioprio" in by_name and self._scope.number(by_name["ioprio"], 0, 8) != 8:
            self._note(f"ioprio (line {by_name['ioprio'].line})", "all threads do I/O at the priority of the command")
        body = self._body(thread.flowops, self._scope, "", files, ())
        return Thread(name=name, line=thread.line, instances=instances, body=body)

    def _body(
        self,
        flowops: Sequence[FlowopStatement],
        scope: Scope,
        prefix: str,
        files: Mapping[str, FilesetFiles],
        inside: tuple[str, ...],
    ) -> Body:
        made: list[Flowop | Composite] = []
        for statement in flowops:
            self._flowops += 1
            if self._flowops > _MOST_FLOWOPS:
                self._refuse(
                    statement.line, f"near 'flowop {cut(statement.kind)}': the limit is {_MOST_FLOWOPS} flowops"
                )
            if statement.kind in TYPES:
                made.append(self._flowop(statement, scope, prefix, files))
            elif statement.kind in self._composites:
                made.append(self._composite(statement, scope, prefix, files, inside))
            else:
                known = ", ".join(sorted({*TYPES, *self._composites}))
                self._refuse(
                    statement.line,
                    f"syntax error near 'flowop {cut(statement.kind)}': unknown flowop; supported: {known}",
                )
        return tuple(made)

    def _composite(
        self,
        statement: FlowopStatement,
        scope: Scope,
        prefix: str,
        files: Mapping[str, FilesetFiles],
        inside: tuple[str, ...],
    ) -> Composite:
        definition = self._composites[statement.kind]
        if statement.kind in inside or len(inside) >= _DEEPEST:
            self._refuse(statement.line, f"near 'flowop {cut(statement.kind)}': composite flowops contain one another")
        of_definition = _locals(definition.attributes)
        self._scope.check_names(by_name_of(_plain(definition.attributes)), _COMPOSITE, "a composite flowop")
        given = _locals(statement.attributes)
        by_name = by_name_of(_plain(statement.attributes))
        scope.check_names(by_name, frozenset({"name", "iters"}), f"flowop {statement.kind}")
        for name, attribute in given.items():
            if name not in of_definition:
                there = ", ".join(f"${known}" for known in of_definition) or "none"
                self._refuse(
                    attribute.line,
                    f"near '${cut(name)}': {statement.kind} has no such variable of its own; it has {there}",
                )
        own = {
            name: (attribute.value, self._scope)
            for name, attribute in of_definition.items()
            if attribute.value is not None
        }
        own |= {name: (attribute.value, scope) for name, attribute in given.items() if attribute.value is not None}
        name = scope.text(by_name["name"]) if "name" in by_name else statement.kind
        full = f"{prefix}{name}"
        self.names[full] = None
        iters = scope.number(by_name["iters"], 1) if "iters" in by_name else 1
        inner = Scope(self._source, self._scope.globals, own)
        body = self._body(definition.flowops, inner, f"{full}.", files, (*inside, statement.kind))
        return Composite(name=full, line=statement.line, iters=iters, body=body)

    def _flowop(
        self, statement: FlowopStatement, scope: Scope, prefix: str, files: Mapping[str, FilesetFiles]
    ) -> Flowop:
        by_name = by_name_of(statement.attributes)
        scope.check_names(by_name, ATTRIBUTES, "flowop")
        if "name" not in by_name:
            self._refuse(statement.line, f"near 'flowop {cut(statement.kind)}': it has no name; give it one, name=...")
        short = scope.text(by_name["name"])
        at = by_name.get("filesetname") or by_name.get("filename")
        file = scope.text(at) if at else ""
        if at and file not in files:
            there = ", ".join(files) or "none"
            self._refuse(
                at.line, f"near '{at.name}={cut(file)}': no file or fileset has this name; defined are {there}"
            )
        self.names[prefix + short] = None

        def number(name: str, default: int = 0, least: int = 0, most: int = 1 << 62) -> int:
            return scope.number(by_name[name], least, most) if name in by_name else default

        def flag(name: str) -> bool:
            return name in by_name and scope.boolean(by_name[name])

        scales = statement.kind in {"finishoncount", "finishonbytes"}
        value = 0 if statement.kind == "print" else number("value")
        return Flowop(
            kind=statement.kind,
            name=prefix + short,
            short_name=short,
            line=statement.line,
            iters=number("iters", 1, 1),
            files=file,
            fd=number("fd", 0, 0, 128),
            source_fd=number("srcfd", 0, 0, 128),
            io_size=scope.drawn(by_name["iosize"]) if "iosize" in by_name else plan.Fixed(value=0.0),
            working_set=_scale(number("workingset"), self._overrides.scale),
            is_random=flag("random"),
            is_dsync=flag("dsync"),
            is_direct=flag("directio"),
            is_blocking=flag("blocking"),
            opens_next=flag("opennext"),
            reads_ahead=not flag("noreadahead"),
            value=_scale(value, self._overrides.scale) if scales else value,
            target=scope.text(by_name["target"]) if "target" in by_name else "",
            high_water=number("highwater", 1, 0, 32_767),
            index=scope.drawn(by_name["indexed"]) if "indexed" in by_name else None,
        )


def _scale(number: int, scale: float) -> int:
    return max(1, round(number * scale)) if number else 0


def _locals(attributes: Attributes) -> dict[str, Attribute]:
    return {attribute.name: attribute for attribute in attributes if attribute.is_local}


def _plain(attributes: Attributes) -> Attributes:
    return tuple(attribute for attribute in attributes if not attribute.is_local)
