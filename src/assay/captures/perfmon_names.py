"""Names of Windows' disk counters, which are those of its language.

Where a counter has several names, editions of Windows or their documentation differ. Japanese Windows has the English names.
Characters beyond ASCII are compared as one sign, because tools write them in several code pages.
"""

import re
import unicodedata
from typing import Final

from assay.captures.samples import Layer

_OTHER = re.compile(r"[^\x00-\x7f]+")


def plain_name(text: str) -> str:
    """Give a name as it is compared: in lower case, with `?` for what is not ASCII."""
    text = unicodedata.normalize("NFC", text).replace("\u2019", "'").replace("\xa0", " ")
    return _OTHER.sub("?", " ".join(text.lower().split()))


def _plain(names: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {plain_name(name): meaning for meaning, of_meaning in names.items() for name in of_meaning}


IDLE: Final = "idle"
"""Of a counter: the share of time without a request."""
LAYERS: Final = {
    plain_name(name): layer
    for layer, names in {
        Layer.DISK: (
            *("PhysicalDisk", "Physikalischer Datenträger", "Disque physique", "Disco físico", "Disco fisico"),
            "DiscoFisico",
        ),
        Layer.PARTITION: ("LogicalDisk", "Logischer Datenträger", "Disque logique", "Disco lógico", "Disco logico"),
    }.items()
    for name in names
}
"""Of objects: English, German, French, Spanish and Portuguese, Italian."""
COUNTERS: Final = _plain(
    {
        "iops": (
            "Disk Transfers/sec",
            "Übertragungen/s",
            "Transferts disque/s",
            "Transferencias de disco/s",
            "Trasferimenti disco/sec",
            "Transferências de disco/s",
            "Transferências de disco/seg",
        ),
        "read_iops": (
            "Disk Reads/sec",
            *("Lesevorgänge/s", "Lesevorgänge/Sek."),
            "Lectures disque/s",
            "Lecturas de disco/s",
            "Letture disco/sec",
            *("Leituras de disco/s", "Leituras de disco/seg"),
        ),
        "write_iops": (
            "Disk Writes/sec",
            *("Schreibvorgänge/s", "Schreibvorgänge/Sek."),
            "Écritures disque/s",
            *("Escrituras en disco/s", "Escrituras de disco/s"),
            "Scritture disco/sec",
            *("Gravações de disco/s", "Escritas de disco/seg"),
        ),
        "bytes_per_s": (
            "Disk Bytes/sec",
            "Bytes/s",
            "Octets disque/s",
            "Bytes de disco/s",
            "Byte da/a disco/sec",
        ),
        "read_bytes_per_s": (
            "Disk Read Bytes/sec",
            *("Bytes gelesen/s", "Byte gelesen/s"),
            "Lectures disque, octets/s",
            "Bytes de lectura de disco/s",
            "Byte letti da disco/sec",
            *("Bytes de leitura de disco/s", "Bytes lidos no disco/s"),
            *("Bytes lidos de disco/seg", "Bytes de leitura de disco/seg"),
        ),
        "write_bytes_per_s": (
            "Disk Write Bytes/sec",
            *("Bytes geschrieben/s", "Byte geschrieben/s"),
            "Écritures disque, octets/s",
            *("Bytes de escritura en disco/s", "Bytes de escritura de disco/s"),
            "Byte scritti su disco/sec",
            *("Bytes de gravação de disco/s", "Bytes gravados no disco/s"),
            "Bytes escritos em disco/seg",
        ),
        "latency_s": (
            "Avg. Disk sec/Transfer",
            "Mittlere Sek./Übertragung",
            "Moyenne disque s/transfert",
            "Promedio de segundos de disco/transferencia",
            "Media sec/trasferimento disco",
            "Média de disco s/transferência",
        ),
        "read_latency_s": (
            "Avg. Disk sec/Read",
            "Mittlere Sek./Lesevorgänge",
            "Moyenne disque s/lecture",
            "Promedio de segundos de disco/lectura",
            "Media letture disco/sec",
            "Média de disco s/leitura",
        ),
        "write_latency_s": (
            "Avg. Disk sec/Write",
            "Mittlere Sek./Schreibvorgänge",
            "Moyenne disque s/écriture",
            "Promedio de segundos de disco/escritura",
            "Media scritture disco/sec",
            "Média de disco s/gravação",
        ),
        "queue_depth": (
            "Avg. Disk Queue Length",
            "Durchschnittl. Warteschlangenlänge des Datenträgers",
            "Longueur moyenne de file d'attente du disque",
            "Lunghezza media coda del disco",
            "Comprimento médio da fila de disco",
        ),
        IDLE: ("% Idle Time", "% d'inactivité"),
    }
)
"""English, German, French, Spanish, Italian, Portuguese of Brazil and of Portugal; rates in seconds and bytes."""
UNUSED: Final = frozenset(
    map(
        plain_name,
        (
            *("% Disk Time", "% Disk Read Time", "% Disk Write Time", "Split IO/Sec", "% Free Space", "Free Megabytes"),
            *("Current Disk Queue Length", "Avg. Disk Read Queue Length", "Avg. Disk Write Queue Length"),
            *("Avg. Disk Bytes/Transfer", "Avg. Disk Bytes/Read", "Avg. Disk Bytes/Write"),
        ),
    )
)
"""Not in the table: the length of the queue at a moment, and what follows from others."""
