"""Handle the signals that end a run: Ctrl-C, TERM and HUP.

Where nothing has to be put in order, a signal ends the program at once by way of `Stopped`. While an engine runs, or a
bundle is being sealed, `Stops` only counts the signals, and whoever is in charge acts on the count: the first asks the
engine to stop and to remove its data, the second kills it, the third ends this program whatever it does.
"""

import signal
import sys
from types import FrameType, TracebackType
from typing import Final, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN, _AGAIN_S = signal.SIGALRM, 0.01
MOST_COUNTED = 2
"""One more than these ends the program."""


class Stopped(BaseException):
    """A signal came in. Like KeyboardInterrupt it is no Exception, so that nobody catches it by chance."""


def end_on_signals() -> None:
    """From now on each signal raises `Stopped`, outside of `Stops`."""
    # Where Python swallows exceptions (a finaliser, a generator that is let go of), it comes again a moment later.
    sys.unraisablehook = _come_again
    signal.signal(_AGAIN, _raise)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup and shells ignore it for children in the background
            signal.signal(number, _raise)


def ending() -> None:
    """All is done, and the exit code is settled: no signal changes it any more, nor does a stop that was to come again.

    Python gives signals back to the kernel before it takes itself apart, and would die of one that comes then. A signal that
    comes meanwhile raises `Stopped` once more: then call this again.
    """
    for number in (*SIGNALS, _AGAIN):
        signal.signal(number, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _come_again(lost: "sys.UnraisableHookArgs") -> None:
    if isinstance(lost.exc_value, Stopped):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    else:
        sys.__unraisablehook__(lost)


_asked: Final[list[int]] = []
"""The signals that came in, in order."""


def is_asked() -> bool:
    """Whether the user has asked for an end: from then on nothing waits for somebody who may never come."""
    return bool(_asked)


def _raise(number: int, _frame: FrameType | None) -> None:
    _asked.append(number)
    raise Stopped(signal.Signals(number).name)


class Stops:
    """Counts signals while it is entered, and what `ask` asks for, entered or not."""

    def __init__(self) -> None:
        """None has come yet."""
        self.count = 0
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def ask(self) -> None:
        """Count a stop that comes by another way than a signal of this process."""
        self.count += 1

    def __enter__(self) -> Self:
        """Take the signals over."""
        for number in (*SIGNALS, _AGAIN):
            handler = signal.getsignal(number)
            if handler is not signal.SIG_IGN:
                self._before[number] = handler
                signal.signal(number, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        _asked.append(number)
        if self.count > MOST_COUNTED:
            _raise(number, frame)
