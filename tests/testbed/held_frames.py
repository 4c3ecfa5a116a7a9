"""Pass frames between two interfaces, each direction held for a time: `held_frames.py FIRST SECOND NS NS`.

The times are those from FIRST to SECOND and from SECOND to FIRST, in nanoseconds; frames keep their order. It says `ready`
when it listens, and ends with SIGTERM. Sums that the kernel leaves to the card go along (PACKET_VNET_HDR), so
that no frame is thrown away at its end for a sum that was never made.
"""

import collections
import select
import socket
import struct
import sys
import time

_EVERYTHING = 0x0003  # ETH_P_ALL
_SOL_PACKET = 263  # linux/socket.h and linux/if_packet.h
_ADD_MEMBERSHIP = 1
_VNET_HEADER = 15
_PROMISCUOUS = 1
_OUTGOING = 4
_LONGEST_FRAME = 1 << 17
_QUEUE_BYTES = 8 << 20


def _listen(interface: str) -> socket.socket:
    # Bound before it is told of frames: else it begins with those of all interfaces.
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _QUEUE_BYTES)
    made.setsockopt(_SOL_PACKET, _VNET_HEADER, 1)
    made.bind((interface, _EVERYTHING))
    membership = struct.pack("iHH8s", socket.if_nametoindex(interface), _PROMISCUOUS, 0, b"")
    made.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, membership)
    made.setblocking(False)
    return made


def _pass_on(first: str, second: str, holds_ns: tuple[int, int]) -> None:
    ends = (_listen(first), _listen(second))
    waiting: tuple[collections.deque[tuple[int, bytes]], ...] = (collections.deque(), collections.deque())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        due_ns = min((queue[0][0] for queue in waiting if queue), default=None)
        wait_s = None if due_ns is None else max(0, due_ns - time.monotonic_ns()) / 1e9
        readable, _, _ = select.select(ends, (), (), wait_s)
        for end in readable:
            direction = ends.index(end)
            frame, sender = end.recvfrom(_LONGEST_FRAME)
            if sender[2] != _OUTGOING:
                waiting[direction].append((time.monotonic_ns() + holds_ns[direction], frame))
        for direction, queue in enumerate(waiting):
            while queue and queue[0][0] <= time.monotonic_ns():
                ends[1 - direction].send(queue.popleft()[1])


if __name__ == "__main__":
    _pass_on(sys.argv[1], sys.argv[2], (int(sys.argv[3]), int(sys.argv[4])))
