"""Lay out /proc, /sys and /dev of machines that the test machine is not."""

from pathlib import Path

from assay.host.reading import SystemTree


class FakeMachine:
    """A tree that grows device by device, with the links that sysfs has."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = SystemTree(root)
        self._mounts: list[str] = []
        self._diskstats: list[str] = []
        self.directory("/sys/class/block")
        self.directory("/sys/dev/block")

    def directory(self, path: str) -> Path:
        """Make a directory."""
        folder = self.tree.at(path)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def file(self, path: str, text: str) -> None:
        """Write a file as the kernel would, with a newline at its end."""
        self.directory(str(Path(path).parent))
        self.tree.at(path).write_text(text + "\n")

    def disk(self, name: str, number: str, **files: str) -> None:
        """Add a disk of 1 GiB; `files` are written below its folder, `__` in their names standing for a slash."""
        self._whole(f"/sys/devices/pci0/block/{name}", name, number, files)

    def virtual(self, name: str, number: str, *, slaves: tuple[str, ...] = (), **files: str) -> None:
        """Add a device that is made of others, or of a file."""
        folder = f"/sys/devices/virtual/block/{name}"
        self._whole(folder, name, number, files)
        for slave in slaves:
            target = (self.tree.at("/sys/class/block") / slave).resolve()
            (self.directory(f"{folder}/slaves") / slave).symlink_to(target)

    def _whole(self, folder: str, name: str, number: str, files: dict[str, str]) -> None:
        self._device(folder, name, number)
        for key, text in {"size": "2097152", "queue__iostats": "1", **files}.items():
            self.file(f"{folder}/{key.replace('__', '/')}", text)

    def partition(self, disk: str, name: str, number: str) -> None:
        """Add a partition inside the folder of its disk."""
        folder = f"/sys/devices/pci0/block/{disk}/{name}"
        self._device(folder, name, number)
        for key, text in {"partition": "1", "size": "1048576", "start": "2048"}.items():
            self.file(f"{folder}/{key}", text)

    def _device(self, folder: str, name: str, number: str) -> None:
        made = self.directory(folder)
        (self.tree.at("/sys/class/block") / name).symlink_to(made)
        (self.tree.at("/sys/dev/block") / number).symlink_to(made)
        self._diskstats.append(f"{number.replace(':', ' ')} {name} 1 0 8 0 1 0 8 0 0 0 0 0 0 0 0 0 0")
        self.file("/proc/diskstats", "\n".join(self._diskstats))

    def mount(self, number: str, point: str, fs_type: str, source: str, options: str = "rw") -> None:
        """Add a mount, later ones on top; on a file, if it is there."""
        if not self.tree.at(point).is_file():
            self.directory(point)
        place = 20 + len(self._mounts)
        self._mounts.append(f"{place} 1 {number} / {point} rw,relatime shared:1 - {fs_type} {source} {options}")
        self.file("/proc/self/mountinfo", "\n".join(self._mounts))
