"""By which rules is a run judged and shown? What was worked out by others is worked out again."""

import hashlib
import os
from pathlib import Path

import assay
from assay.invariants.invariant_table import own_text


def rules_version() -> str:
    """Name the rules: what this version of Assay consists of, and the user's own table of invariants.

    Raises InputError where that table cannot be read.
    """
    root = Path(assay.__file__).parent
    digest = hashlib.sha256(own_text().encode())
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(name for name in names if name.endswith((".py", ".toml", ".json"))):
            path = Path(folder) / name
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root)} {len(content)}\n".encode() + content)
    return f"{assay.__version__} {digest.hexdigest()[:16]}"
