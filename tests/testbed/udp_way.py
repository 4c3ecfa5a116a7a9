"""A way for datagrams that holds those of one direction back, in user space: kernels without netem have no other.

What is held back is held for that long at least, and on a busy machine for longer; the other direction is as fast as the
machine lets it be.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

_LONGEST = 65536
_LOOK_S = 0.1


@dataclass
class Way:
    """Where datagrams go in, and what came."""

    address: str
    port: int
    asked: list[bytes] = field(default_factory=list)
    """Datagrams that went to the far end, in order."""


@contextmanager
def udp_way(address: str, port: int, *, there_s: float = 0.0, back_s: float = 0.0) -> Iterator[Way]:
    """Make a way on loopback to an address, for one who asks and waits for the answer."""
    with ExitStack() as undo:
        near, far = (undo.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(2))
        near.bind(("127.0.0.1", 0))
        far.connect((address, port))
        for end in (near, far):
            end.settimeout(_LOOK_S)
        way = Way(*near.getsockname())
        asker: list[tuple[str, int]] = []
        is_over = threading.Event()

        def go_there() -> None:
            datagram, whom = near.recvfrom(_LONGEST)
            asker[:] = [whom]
            way.asked.append(datagram)
            time.sleep(there_s)
            far.send(datagram)

        def go_back() -> None:
            datagram = far.recv(_LONGEST)
            time.sleep(back_s)
            near.sendto(datagram, asker[0])

        def go_on(go: Callable[[], None]) -> None:
            while not is_over.is_set():
                try:
                    go()
                except TimeoutError:
                    continue
                except ConnectionRefusedError:  # the far end is gone: a datagram is lost
                    continue

        threads = [threading.Thread(target=go_on, args=(go,)) for go in (go_there, go_back)]
        for thread in threads:
            thread.start()
            undo.callback(thread.join)
        undo.callback(is_over.set)
        yield way
