"""What a killed session leaves does not break the next."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.devices import need_fuse
from testbed.host import need_root, need_tools, wait_until
from testbed.killed import clear_dead_devices
from testbed.leaks import loops_of_machine, mounts_of_machine

SESSION = """
import time
from testbed.nbd import nbd_delay_device
from testbed.devices import filesystem
with nbd_delay_device(0, 64 << 20) as device, filesystem(device) as at:
    print(device, at, flush=True)
    time.sleep(600)
"""


@pytest.mark.quiet  # a dead loop device breaks mkfs.btrfs and losetup for everybody
@pytest.mark.testbed
def test_devices_without_their_server_are_cleared(tmp_path: Path) -> None:
    need_root()
    need_tools("nbdkit", "nbdfuse", "losetup", "fusermount3")
    need_fuse()
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "TMPDIR": str(tmp_path)}
    words = [sys.executable, "-c", SESSION]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True, env=environment) as session:
        assert session.stdout is not None
        device, at = session.stdout.readline().split()
        file = loops_of_machine()[device]
        clear_dead_devices()
        assert loops_of_machine()[device] == file, "what is served is left alone"
        os.killpg(session.pid, signal.SIGKILL)

    def is_cleared() -> bool:
        clear_dead_devices()
        return loops_of_machine().get(device) != file

    wait_until(is_cleared, f"{device} cleared")
    assert not {Path(at), file} & mounts_of_machine()
