"""What travels between Dask's two servers: one frame a message, of plain data, whose size is looked at before it is read.

Dask sends Python objects as pickles, and takes them from whoever is at the other end, who can have any code run by that. An
honest run needs none. So in this process messages are read by a decoder of plain data (`plain_messages.py`) and by nothing
else; what Dask would call with a pickle raises; and there are no ways to connect but TCP and TLS.
"""

import importlib
import ssl
import struct
from typing import Any, Final, cast

from distributed import core, protocol, scheduler, worker
from distributed.comm import registry, tcp
from distributed.comm.core import CommClosedError
from distributed.protocol import core as protocol_core
from distributed.protocol import pickle
from tornado.iostream import StreamClosedError

from assay.cluster.plain_messages import decode

LARGEST_BYTES: Final = 32 << 20
"""Of a message: a Plan, a piece of a stream, or what a client had queued while the network was stopped."""
FIRST_BYTES: Final = 1 << 20
"""The same of whoever connects, before it is identified."""
_LENGTH: Final = struct.Struct("Q")
_ONE_FRAME: Final = struct.Struct("QQ")


class PickleRefusedError(TypeError):
    """Something asked for a pickle to be made or read."""


class _Plain:
    """What a connection reads instead of what Dask's own would."""

    stream: Any
    most_bytes = FIRST_BYTES
    """Of one message; an identified peer is allowed more."""
    refused: str | None = None
    """What came that is not a message, after which the connection is closed."""

    async def read(self, deserializers: object = None) -> Any:  # noqa: ARG002 - Dask's: how to read what is not read here
        """Give the next message; raises CommClosedError where the connection ends, or has to."""
        if (stream := self.stream) is None:
            raise CommClosedError
        try:
            (size,) = _LENGTH.unpack(await stream.read_bytes(_LENGTH.size))
            self._check_size(size)
            return decode(_only_frame(await stream.read_bytes(size)))
        except ValueError as error:
            self.refused = f"it sent what is not a message ({str(error)[:200]})"
            cast("Any", self).abort()
            raise CommClosedError(self.refused) from error
        except (StreamClosedError, ssl.SSLError) as error:
            cast("Any", self).abort()
            tcp.convert_stream_closed_error(self, error)  # type: ignore[no-untyped-call]  # Dask's
        except BaseException:
            # It is unknown how much of a message was read.
            cast("Any", self).abort()
            raise

    def _check_size(self, size: int) -> None:
        if not _ONE_FRAME.size <= size <= self.most_bytes:
            raise ValueError(f"{size} bytes; a message has at most {self.most_bytes}")


def _only_frame(data: bytes) -> memoryview:
    """Give the frame of a message, after their number and its length; raises ValueError where that is not all."""
    frames, length = _ONE_FRAME.unpack_from(data)
    if (frames, length) != (1, len(data) - _ONE_FRAME.size):
        raise ValueError(f"{frames} frames, and not one of plain data")
    return memoryview(data)[_ONE_FRAME.size :]


class _PlainTcp(_Plain, tcp.TCP):
    pass


class _PlainTls(_Plain, tcp.TLS):
    pass


class _Connecting:
    """Takes more from whom this side has called."""

    async def connect(self, address: str, deserialize: bool = True, **words: Any) -> Any:
        comm = await cast("Any", super()).connect(address, deserialize, **words)
        comm.most_bytes = LARGEST_BYTES
        return comm


class _TcpConnector(_Connecting, tcp.TCPConnector):
    comm_class = _PlainTcp


class _TlsConnector(_Connecting, tcp.TLSConnector):
    comm_class = _PlainTls


class _TcpListener(tcp.TCPListener):
    comm_class = _PlainTcp


class _TlsListener(tcp.TLSListener):
    comm_class = _PlainTls


class _TcpBackend(tcp.TCPBackend):
    _connector_class, _listener_class = _TcpConnector, _TcpListener


class _TlsBackend(tcp.TLSBackend):
    _connector_class, _listener_class = _TlsConnector, _TlsListener


class _NoPickle:
    """In the place of the module `pickle`, where Dask uses it."""

    HIGHEST_PROTOCOL = pickle.HIGHEST_PROTOCOL

    @staticmethod
    def loads(*_: object, **__: object) -> Any:
        """Refuse."""
        raise PickleRefusedError("pickles are not read")

    @staticmethod
    def dumps(*_: object, **__: object) -> Any:
        """Refuse."""
        raise PickleRefusedError("pickles are not sent")


def _error_message(error: BaseException, status: str = "error") -> dict[str, object]:
    """Send the error as text: Dask sends the exception itself, and its traceback."""
    text = f"{type(error).__name__}: {error}"[:1000]
    return {
        "status": status,
        "exception": text,
        "traceback": "",
        "exception_text": text,
        "traceback_text": "",
    }


def use_plain_transport() -> None:
    """Have Dask connect, listen, read and report so in this process, from now on."""
    registry.backends.clear()
    registry.backends.update({"tcp": _TcpBackend(), "tls": _TlsBackend()})
    for module in (core, scheduler, worker, protocol, protocol_core):
        if hasattr(module, "pickle"):
            setattr(module, "pickle", _NoPickle)  # noqa: B010 - not all of them have it in their types
    pickle.loads, pickle.dumps = _NoPickle.loads, _NoPickle.dumps
    serialize = importlib.import_module("distributed.protocol.serialize")  # a function hides it
    for module in (serialize, protocol, protocol_core, scheduler):
        for name in ("deserialize", "merge_and_deserialize"):
            if hasattr(module, name):
                setattr(module, name, _NoPickle.loads)
    serialize.families.clear()
    core.error_message = _error_message  # type: ignore[assignment]
