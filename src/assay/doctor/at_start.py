"""What a run of a directory should report before it starts: what its user may not know, and what is in every number."""

from pathlib import Path

from assay.doctor.directory_checks import nearly_full, unsafe_mounts
from assay.doctor.machine_checks import scarce_memory
from assay.host.machine import memory_facts
from assay.host.reading import SystemTree
from assay.host.storage import storage_path


def at_start(directory: Path, tree: SystemTree | None = None) -> tuple[str, ...]:
    """Describe a nearly full file system, scarce memory and unsafe mount options, each in a few words; nothing without.

    Args:
        directory: The directory to be measured.
        tree: Where /proc and /sys are; the machine's own by default.

    Raises:
        InputError: the directory is not there, or this user may not ask it.
    """
    tree = tree or SystemTree()
    path = storage_path(directory, tree)
    memory = {fact.key: fact.value for fact in memory_facts(tree)}
    scarce = scarce_memory(memory.get("host.memory.total_bytes"), memory.get("host.memory.available_bytes"))
    checks = (*unsafe_mounts(path), nearly_full(path), scarce)
    return tuple(check.text for check in checks if check is not None)
