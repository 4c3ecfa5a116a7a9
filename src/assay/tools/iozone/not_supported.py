"""Options of IOzone that are not supported: refused, or ignored where they do not change the load."""

from assay.tools.option_meaning import Refused, table

_CONTENT = "shapes the data by IOzone's own recipe; use 'assay run' with content = { compress_ratio, dedupe_ratio }"
_SHARED = "lets the children share or lock parts of a file, which this front end does not do; leave it out"

_REFUSED = {
    "U": "remounts a file system between tests, which this engine does not do; use -I, or a file of twice the RAM",
    "X": "takes the writes from a telemetry file; use 'assay run' with a script of operations",
    "Y": "takes the reads from a telemetry file; use 'assay run' with a script of operations",
    "d": "holds each child back at the start; the children here start together. Leave it out",
    "m": "gives each record a buffer of its own; every write here has new content in one buffer. Leave it out",
    "+t": "tests the network between the children of a cluster, which is not part of any result; leave it out",
    "+E": "reads a file that IOzone did not make; Assay works only on files of its own. Leave it out",
    "+N": "leaves a file that is there untruncated; Assay works only on files of its own. Leave it out",
    "+F": "truncates a file that is there; Assay works only on files of its own. Leave it out",
    "+l": _SHARED,
    "+L": _SHARED,
    "+V": _SHARED,
    "+A": "advises the kernel about a mapping; use 'assay run' with open = { advice = ... }",
    "+b": "writes in bursts; use 'assay run' with a rate",
    "+w": _CONTENT,
    "+y": _CONTENT,
    "+C": _CONTENT,
    "+S": _CONTENT,
    "+W": _CONTENT,
    "+a": _CONTENT,
    "+Q": _CONTENT,
    "+M": _CONTENT,
    "+Z": "allows results that IOzone itself calls bogus; leave it out",
    "+X": "leaves the I/O out; nothing would be measured",
    "+K": "changes the mixed test by hand; use -+p and -+B",
    "+H": "asks a time server of IOzone's own; leave it out",
    "+P": "asks a time server of IOzone's own; leave it out",
    "+R": "takes the names of files from a file; name them with -F",
}

_IN_BUNDLE = "the result document has it, and this text has no place for it"

_NOTED = {
    "D": "msync(MS_ASYNC) does nothing on Linux since 2.6.19; the call itself is left out",
    "Z": "it maps one page and then reads and writes the file all the same",
    "M": "the bundle holds what the machine is; 'assay show' prints it",
    "+u": "the CPU's part of each result: " + _IN_BUNDLE,
    "+z": "the latency histogram of each result: " + _IN_BUNDLE,
}

NOT_SUPPORTED = table((), _NOTED, {name: Refused(why) for name, why in _REFUSED.items()})
NOTICES = {"D": "Using msync(MS_ASYNC) on mmap files", "Z": "Enable mmap & file I/O mixing."}
"""The lines that IOzone prints for those that are ignored."""
