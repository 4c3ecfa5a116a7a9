"""The event loop of the leader's side, in a thread of its own: the run itself is led by plain calls in the main thread."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LeaderLoop:
    """An event loop that runs from `start` to `stop`."""

    def __init__(self) -> None:
        """Make a loop that does not run yet."""
        self._loop = asyncio.new_event_loop()
        # A daemon: what hangs in a connection must not hold the program at its end.
        self._thread = threading.Thread(target=self._run, name="leader", daemon=True)

    def start(self) -> None:
        """Run it."""
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def call(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Have work done there and wait for what comes of it.

        Raises:
            TimeoutError: it was not done in time, and was cancelled.
        """
        done = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result(timeout_s)
        except concurrent.futures.TimeoutError:
            done.cancel()
            raise
        except BaseException:
            done.cancel()
            raise

    def now(self, act: Callable[[], T]) -> T:
        """Have a short call made there, between two others, and give what it returns."""

        async def once() -> T:
            return act()

        return self.call(once())

    def soon(self, act: Callable[[], object]) -> None:
        """Have a short call made there, without waiting for it; calls keep their order."""
        self._loop.call_soon_threadsafe(act)

    def stop(self, patience_s: float) -> None:
        """End it; work under way is cancelled."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(patience_s)
