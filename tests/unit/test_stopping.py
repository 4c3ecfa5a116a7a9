"""Signals become exceptions or counts, and none is lost."""

import signal
import subprocess
import sys

IN_A_FINALISER = """
import signal, time
from assay.running.stopping import Stopped, Stops, end_on_signals
end_on_signals()

class Closing:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

def lose_one():
    Closing()

try:
    lose_one()
    time.sleep(60)
    print("deaf")
except Stopped:
    print("heard")

with Stops() as stops:
    try:
        lose_one()
    except Stopped:
        print("raised")
print(stops.count)
"""


def test_a_signal_in_a_finaliser_where_python_swallows_exceptions_is_heard_all_the_same() -> None:
    done = subprocess.run([sys.executable, "-c", IN_A_FINALISER], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["heard", "1"]
    assert done.stderr == ""


def test_a_signal_that_is_ignored_stays_so() -> None:
    code = (
        "import signal; from assay.running.stopping import Stops, end_on_signals\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN); end_on_signals()\n"
        "signal.raise_signal(signal.SIGHUP)\n"
        "with Stops() as stops: signal.raise_signal(signal.SIGHUP)\n"
        "print(stops.count)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("0\n", "")
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


AT_THE_VERY_END = """
import os, signal, sys
from assay.running.stopping import end_on_signals, ending

class Last:
    def __del__(self, kill=os.kill, own=os.getpid()):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            kill(own, number)

last = Last()
end_on_signals()
ending()
sys.exit(3)
"""


def test_a_signal_while_python_takes_itself_apart_leaves_the_exit_code() -> None:
    done = subprocess.run([sys.executable, "-c", AT_THE_VERY_END], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (3, "")
