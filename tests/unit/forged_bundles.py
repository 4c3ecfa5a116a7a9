"""Bundles as a stranger would forge them: every hash is right, and what they hold is not."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from unit.bundle_streams import begun


def sealed(runs: Path, name: str = "quick") -> Path:
    """Make a sealed bundle and give its folder."""
    bundle = begun(runs, name=name)
    bundle.seal()
    return bundle.path


def entry(data: bytes) -> dict[str, Any]:
    """Describe a file as a manifest does."""
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def write_manifest(folder: Path, data: bytes) -> None:
    """Put a manifest in place, with its hash."""
    (folder / "manifest.json").write_bytes(data)
    (folder / "manifest.sha256").write_text(f"{hashlib.sha256(data).hexdigest()}  manifest.json\n")


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest in place."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    change(manifest)
    write_manifest(folder, json.dumps(manifest).encode())


def forge(folder: Path, name: str, data: bytes) -> None:
    """Replace a file, and its hash in the manifest."""
    (folder / name).write_bytes(data)
    change_manifest(folder, lambda manifest: manifest["files"].update({name: entry(data)}))


def change_json(folder: Path, name: str, change: Callable[[Any], object]) -> None:
    """Change a document in place, and its hash in the manifest."""
    document = json.loads((folder / name).read_bytes())
    change(document)
    forge(folder, name, json.dumps(document).encode())


def change_table(folder: Path, name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change a table in place, and its hash in the manifest."""
    changed = folder / "changed.parquet"
    change(pl.read_parquet(folder / f"{name}.parquet")).write_parquet(changed, compression="zstd")
    data = changed.read_bytes()
    changed.unlink()
    forge(folder, f"{name}.parquet", data)
