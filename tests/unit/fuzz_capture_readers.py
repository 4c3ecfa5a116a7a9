"""Readers of captures, as a fuzzer has to know them."""

import gzip
from collections.abc import Callable
from pathlib import Path

from assay.captures.capture_files import read_captures
from assay.captures.column_map import parse_columns
from assay.captures.readers import READERS as FORMATS
from assay.captures.readers import rvtools
from assay.captures.stated_facts import Asked
from fuzzing.reader import Reader
from unit.capture_texts import TEXTS, WORKBOOK_SHEET, WORKBOOK_TEXTS, workbook_of

RECORDED = Path(__file__).parent.parent / "golden" / "captures"
WORDS = {
    "iostat": b"Device Device: tps r/s w_await rkB/s rMB/s %util avg-cpu: AM 28.11.2026 13/13/26 -0.01 1e400 LINUX",
    "sar": b"DEV tps bread/s bwrtn/s Average: LINUX RESTART AM PM 24:00:00 12:00:00 31.02.2026 2026",
    "sadf -d": b"LINUX-RESTART COM DEV tps;rtps;wtps bread/s -1 1795899970 9999999999 UTC # ;;",
    "perfmon CSV": b'(PDH-CSV PhysicalDisk LogicalDisk _Total " "," (840) (-841) 02/30/2026 12/31/9999 01/01/0001',
}
MAPS = [
    b'time=Timestamp,read_iops="Read IOPS",read_latency="Read latency (ms)":ms,read_bytes=MBPS:MB/s',
    b"time=t:ms,host=h,device=d,interval=i:s,iops=o,queue=q,utilisation=u:%",
]
TABLES = [
    b"t,h,d,i,o,q,u\n1795899970000,a,x,10,1.5,2,50%\n1795899980000,a,x,10,2.5,2,60\n",
    b"t;h;d;i;o;q;u\n1795899970000;a;x;10;1,5;2;50%\n1795899980000;a;x;10;2,5;2;60\n",
]
COLUMNS = parse_columns(MAPS[1].decode())


def capture(name: str, asked: Asked) -> Callable[[bytes], object]:
    """Read a file as one of a format; what is taken is what is read again from the table that is written of it."""

    def read(data: bytes) -> object:
        path = Path("capture")
        path.write_bytes(data)
        text = data.decode(errors="replace").splitlines()[:200]
        recognised = [recognise(text) for _, recognise, _ in FORMATS]
        found = read_captures([str(path)], asked, name)[0]
        if found.inventory is None:
            Path("again").write_bytes(found.table.write_csv().encode(errors="replace"))
            again = read_captures(["again"], Asked())[0]
            numbers = found.table.columns[3:]
            assert again.table.select(numbers).equals(found.table.select(numbers))
        return recognised, found

    return read


def column_map(data: bytes) -> object:
    """Read which column has what."""
    return parse_columns(data.decode(errors="replace"))


def _samples_of(name: str) -> list[bytes]:
    texts = [text.encode() for text in TEXTS[name]]
    if name == "sysstat JSON":
        return [*texts, *(path.read_bytes() for path in sorted(RECORDED.glob("*.json")))]
    return [*texts, gzip.compress(texts[0], mtime=0)]


_BETWEEN = b"\n=====\n"


def workbook(data: bytes) -> object:
    """Read a workbook whose sheet, or texts, or archive are changed."""
    sheet, is_xml, texts = data.partition(_BETWEEN)
    return capture(rvtools.NAME, Asked())(workbook_of(sheet, texts) if is_xml else data)


BOOK = [WORKBOOK_SHEET.encode(), WORKBOOK_TEXTS.encode()]
READERS = [
    *(
        Reader(
            f"capture of {name}",
            _samples_of(name),
            capture(name, Asked(timezone="Europe/Berlin" if name == "sar" else None)),
            WORDS.get(name, b"").split(),
            share=0.5 if name == "sysstat JSON" else 1.0,
        )
        for name in TEXTS
    ),
    Reader(
        "workbook of RVTools",
        [_BETWEEN.join(BOOK), workbook_of(BOOK[0], BOOK[1])],
        workbook,
        [b"PK\x03\x04", b"vInfo", b"<!DOCTYPE a>"],
    ),
    Reader("--columns", MAPS, column_map, [b"time=", b":us", b'"', b"write_latency=", b"bytes=x:GiB/s"]),
    Reader("mapped table", TABLES, capture("table", Asked(columns=COLUMNS)), [b"1e999", b"-1", b";;", b'"']),
]
