"""Filebench's workload language as a tree: text -> commands with their lines.

One grammar for 1.5 and for the additions of 1.4; `evaluate.py` decides which form belongs to which. What an attribute
means is outside of the grammar: it has names, values and their positions.
"""

import functools
import re
from typing import Final

from lark import Lark, Token, Tree, UnexpectedInput
from lark.exceptions import LarkError

from assay.errors import FrontEndError
from assay.tools.arguments import cut

GRAMMAR: Final = r"""
start: command*

?command: define | create | run | psrun | sleep | set | mode | eventgen | enable | sync | echo | system | shell | list
        | debug | version | quit | stats | usage | load | shutdown | warmup | foreach | vars

define: "define" "file" attributes                                      -> define_file
      | "define" ("fileset" | "filesets") attributes                    -> define_fileset
      | "define" ("process" | "processes") attributes "{" thread* "}"   -> define_process
      | "define" "flowop" attributes "{" flowop* "}"                    -> define_flowop
      | "define" "randvar" attributes                                   -> define_randvar

thread: "thread" attributes "{" flowop* "}"
flowop: "flowop" WORD attributes

create: "create" CREATED
run: "run" [scalar]
psrun: "psrun" [scalar [scalar]]
sleep: "sleep" scalar
set: "set" VARIABLE "=" (expression | random)
random: WORD "(" attributes ")"
mode: "set" "mode" WORD [WORD]
eventgen: "eventgen" attributes
enable: "enable" WORD [attributes]
sync: "domultisync" attributes
echo: "echo" (STRING | WORD)
system: "system" (STRING | WORD)
shell: SHELL
list: "list" WORD
debug: "debug" NUMBER
version: "version"
quit: "quit"
stats: "stats" WORD [STRING | WORD | VARIABLE]
usage: "usage" STRING
load: "load" (WORD | STRING)
shutdown: "shutdown" WORD
warmup: "warmup" scalar
foreach: "foreach" VARIABLE "in" scalar ("," scalar)* "{" command* "}"
vars: "vars"

attributes: attribute ("," attribute)*
attribute: (WORD | VARIABLE) ["=" (scalar | table)]
table: "{" row ("," row)* "}"
row: "{" scalar "," scalar "," scalar "}"

?expression: product (SUM product)*
?product: factor (TIMES factor)*
?factor: scalar | "(" expression ")"

?scalar: NUMBER | WORD | STRING | VARIABLE

CREATED: "files" | "filesets" | "fileset" | "processes" | "process"
SUM.4: /[+]|-(?=\s)/
TIMES.4: /\*|\/(?=\s)/
VARIABLE: /\$[A-Za-z_][A-Za-z0-9_]*/
NUMBER.3: /-?[0-9]+[A-Za-z]*(?![A-Za-z0-9._:;\/-])/
WORD: /[\/A-Za-z0-9._-][\/A-Za-z0-9._:;-]*/
STRING: /"(\\.|[^"\\])*"/s
SHELL: /![^\n]*/

%ignore /\s+/
%ignore /#[^\n]*/
"""

MOST_NESTED: Final = 60
"""Braces and parentheses in each other; a script has three."""
_SHOWN = {"$END": "the end of the script"}


@functools.cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def parse(text: str, source: str) -> Tree[Token]:
    """Read a script; raises FrontEndError with file and line of the first thing that does not belong there."""
    _check_nesting(text, source)
    try:
        return _parser().parse(text)
    except UnexpectedInput as error:
        raise _refusal(error, text, source) from None
    except (LarkError, RecursionError) as error:
        raise FrontEndError(source, None, f"it cannot be read: {cut(str(error))}") from None


def _check_nesting(text: str, source: str) -> None:
    """Count what is open at a time: strings and comments too, which only makes the count larger."""
    depth = 0
    for found in re.finditer(r"[{}()]", text):
        depth += 1 if found[0] in "{(" else -1
        if depth > MOST_NESTED:
            line = text.count("\n", 0, found.start()) + 1
            raise FrontEndError(source, line, f"braces are {depth} deep in each other; the limit is {MOST_NESTED}")


def _refusal(error: UnexpectedInput, text: str, source: str) -> FrontEndError:
    token = getattr(error, "token", None)
    position = error.pos_in_stream if isinstance(error.pos_in_stream, int) else len(text)
    at_end = (token is not None and token.type == "$END") or position >= len(text)
    line = text.count("\n", 0, position) + 1 if not at_end else max(1, text.rstrip().count("\n") + 1)
    near = "the end of the script" if at_end else f"'{cut(_word_at(text, position))}'"
    wanted = _expected(error)
    return FrontEndError(source, line, f"syntax error near {near}{f'; expected: {wanted}' if wanted else ''}")


def _word_at(text: str, position: int) -> str:
    found = re.compile(r"\"[^\"\n]*\"?|[\w$./:;-]+|.", re.DOTALL).match(text, position)
    return found[0] if found else ""


def _expected(error: UnexpectedInput) -> str:
    names = getattr(error, "accepts", None) or getattr(error, "expected", None) or getattr(error, "allowed", None) or ()
    plain = {
        "NUMBER": "a number",
        "WORD": "a word",
        "STRING": 'a text in "quotes"',
        "VARIABLE": "a $variable",
        "EQUAL": "=",
        "COMMA": ",",
        "LBRACE": "{",
        "RBRACE": "}",
        "LPAR": "(",
        "RPAR": ")",
        "$END": "the end of the script",
        "SHELL": "!command",
        "SUM": "+",
        "TIMES": "*",
    }
    known = sorted(plain.get(name, name.lower()) for name in names)
    return ", ".join(known) if len(known) <= 8 else ""
