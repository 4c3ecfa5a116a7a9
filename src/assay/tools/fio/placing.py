"""Read which files a job uses, and how much of them."""

from pathlib import Path, PurePosixPath

from assay.places import device_bytes
from assay.tools.fio import values
from assay.tools.fio.given import JobOptions
from assay.tools.fio.job_settings import METADATA, Files, Size

_UNKNOWN_BYTES = 1 << 40
"""Of a device that is not here: the words of an old run are read again for its output alone."""


def files(given: JobOptions) -> Files:
    """Read which files a job has, and how they begin."""
    names = tuple(_names(given)) if "filename" in given else ()
    count = given.whole("nrfiles", max(len(names), 1), 1, 1 << 22)
    if names and "nrfiles" in given and count != len(names):
        raise given.fault("nrfiles", f"is not the number of files that filename names, {len(names)}")
    if (
        "openfiles" in given
        and given.whole("openfiles", least=1) < count
        and given.word("ioengine", "") not in METADATA
    ):
        raise given.fault("openfiles", "is not supported: every file of a job is open from the start; leave it out")
    devices = [name for name in names if is_device(name)]
    if devices and len(names) > 1:
        raise given.fault("filename", "names several devices, or files beside one; give each a job of its own")
    service = given.text("file_service_type", "roundrobin")
    if service not in {"roundrobin", "roundrobin:1", "sequential", "random"}:
        raise given.fault("file_service_type", "is not supported; use roundrobin, sequential or random")
    allocate = given.text("fallocate", "native")
    if allocate in {"0", "1"}:
        allocate = "none" if allocate == "0" else "posix"
    if allocate not in {"none", "native", "posix", "keep", "truncate"}:
        raise given.fault("fallocate", "must be none, native, posix, keep or truncate")
    return Files(
        directory=_directory(given),
        names=names,
        name_format=_name_format(given),
        count=count,
        bytes_each=given.read("filesize", 0, lambda text: values.size(text, given.kb_base)),
        device_bytes=(device_bytes(Path(devices[0])) or _UNKNOWN_BYTES) if devices else 0,
        service=service.partition(":")[0],
        allocate=allocate,
        overwrite=given.flag("overwrite"),
        is_kept="unlink" in given and not given.flag("unlink"),
    )


def is_device(name: str) -> bool:
    """Whether a name is that of a block device."""
    return PurePosixPath(name).is_relative_to("/dev") and ".." not in PurePosixPath(name).parts


def _names(given: JobOptions) -> list[str]:
    text = given.text("filename")
    found = [part.replace("\\:", ":").strip() for part in text.replace("\\:", "\0").split(":")]
    found = [part.replace("\0", ":") for part in found]
    if len(set(found)) < len(found) or not all(found):
        raise given.fault("filename", "names a file twice, or one without a name")
    return found


def _directory(given: JobOptions) -> str:
    found = given.text("directory", "")
    if ":" in found:
        raise given.fault("directory", "names several directories; give each a job of its own")
    return found


def _name_format(given: JobOptions) -> str:
    text = given.text("filename_format", "$jobname.$jobnum.$filenum")
    left = text
    for word in ("$jobname", "$jobnum", "$filenum"):
        left = left.replace(word, "")
    if "$" in left:
        raise given.fault("filename_format", "has a '$' that is not $jobname, $jobnum or $filenum")
    return text


def size(given: JobOptions, of: Files, *, is_metadata: bool) -> Size:
    """Read how much is done in of."""
    whole = of.count * of.length_bytes
    given_size, is_percent = given.read(
        "size", (whole, False), lambda text: values.size_or_percent(text, given.kb_base)
    )
    if is_percent:
        if not whole:
            raise given.fault("size", "is a share of files of unknown size; give filesize, or size in bytes")
        given_size = whole * given_size // 100
    io_bytes, io_percent = given.read("io_size", (0, False), lambda text: values.size_or_percent(text, given.kb_base))
    offset, offset_percent = given.read("offset", (0, False), lambda text: values.size_or_percent(text, given.kb_base))
    if offset_percent and not whole:
        raise given.fault("offset", "is a share of files of unknown size; give filesize, or an offset in bytes")
    if not given_size and not is_metadata:
        raise given.fault("size", "is needed: nothing else sets the size of the files")
    return Size(
        bytes=given_size,
        io_bytes=given_size * io_bytes // 100 if io_percent else io_bytes,
        offset_bytes=of.length_bytes * offset // 100 if offset_percent else offset,
        offset_increment_bytes=given.size("offset_increment"),
        ops=given.whole("number_ios"),
        loops=given.whole("loops", 1, 1, 1 << 30),
        seconds=given.seconds("runtime"),
        ramp_s=given.seconds("ramp_time"),
        is_time_based=given.flag("time_based"),
    )
