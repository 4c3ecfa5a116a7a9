"""What is made from the code: pages of the documentation, the schema of results, and the engine's copy of the limits."""

from collections.abc import Callable, Mapping
from typing import Final

from assay.plan import limits
from bench.reference import load_file_page, program_pages

FILES: Final[Mapping[str, Callable[[], bytes]]] = {
    "docs/findings.md": lambda: program_pages.findings_page().encode(),
    "docs/reference/commands.md": lambda: program_pages.commands_page().encode(),
    "docs/reference/load-file.md": lambda: load_file_page.page().encode(),
    "docs/reference/results.schema.json": lambda: program_pages.results_schema().encode(),
    "engine/src/plan/limits.json": limits.for_engine,
}
"""By the path in the repository. None can say what the program does not do: a test holds the committed files to it."""
