"""A Chromium that tests drive over the DevTools protocol, through two pipes: no port is opened and no library needed.

https://chromedevtools.github.io/devtools-protocol/. Messages are JSON, each ended by a NUL byte. The browser looks
nothing up, has a proxy that nobody listens at, and its background services are off: what it asks for is the
page's.
"""

import base64
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
WAIT_S = 300.0
"""Patience, for a machine of any speed."""
_ENDING_S = 120.0
_MARK = "ASSAY_TEST_BROWSER"
"""Variable by which its processes are known."""
_FLAGS = (
    *(
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--hide-scrollbars",
    ),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"),
    *(
        "--disable-breakpad",
        "--disable-crash-reporter",
        "--disable-default-apps",
        "--disable-extensions",
        "--disable-domain-reliability",
        "--no-pings",
        "--no-default-browser-check",
    ),
    *("--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe"),
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,CertificateTransparencyComponentUpdater",
)


class Page:
    """A tab: what it asked for, what it wrote on its console, and what scripts in it say."""

    def __init__(self, into: int, out: int) -> None:
        """Speak through two pipes."""
        self._into, self._out = into, out
        self._numbers = itertools.count(1)
        self._read = b""
        self._events: list[dict[str, Any]] = []
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def show(self, path: Path, *, width: int = 1400, height: int = 900, dark: bool = False) -> None:
        """Open a file in a window of a size, and wait until its figures are drawn."""
        self._events.clear()
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self.emulate_scheme(dark=dark)
        self._call("Page.navigate", url=path.as_uri())
        self.wait("document.readyState === 'complete' && 'drawn' in document.documentElement.dataset")

    def emulate_scheme(self, *, dark: bool) -> None:
        """Have the user prefer dark pages, or light ones."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", features=scheme)

    def evaluate(self, script: str) -> Any:
        """Give the value of an expression, of a promise what it becomes."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until an expression holds."""
        end = time.monotonic() + WAIT_S
        while not self.evaluate(f"Boolean({script})"):
            if time.monotonic() > end:
                raise TimeoutError(f"the page does not come to: {script}")
            time.sleep(0.05)

    def open_all(self) -> None:
        """Unfold everything, and wait until every figure is drawn."""
        self.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        every = "document.querySelectorAll('[data-spec]').length"
        failed = "document.querySelectorAll('.undrawn').length"
        self.wait(f"Number(document.documentElement.dataset.drawn) + {failed} === {every}")

    def pictures(self) -> list[str]:
        """Give the names of all pictures, as they are told to those who cannot see them; an empty one has none."""
        nodes = self._call("Accessibility.getFullAXTree")["nodes"]
        return [
            str(node.get("name", {}).get("value", "")).strip()
            for node in nodes
            if not node["ignored"] and node["role"]["value"] in {"image", "img", "graphics-document", "Canvas"}
        ]

    def messages(self) -> list[str]:
        """Give what was written on the console or in the log, and exceptions, since the page was opened."""
        kinds = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [json.dumps(event["params"])[:1000] for event in self._events if event["method"] in kinds]

    def requests(self) -> list[str]:
        """Give the addresses that were asked for since the page was opened, itself the first."""
        asked = [
            event["params"]["request"]["url"]
            for event in self._events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("data:", "blob:"))]

    def picture(self, path: Path, *, height: int) -> Path:
        """Write a picture of the top of the page, as wide as the window."""
        width = self.evaluate("window.innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def printed(self, path: Path) -> Path:
        """Write what would be printed on A4, as PDF."""
        sheet = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
        path.write_bytes(base64.b64decode(self._call("Page.printToPDF", **sheet)["data"]))
        return path

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._into, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']}")
                result: dict[str, Any] = told["result"]
                return result
            if "method" in told:
                self._events.append(told)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            if not select.select([self._out], [], [], WAIT_S)[0]:
                raise TimeoutError("the browser says nothing")
            part = os.read(self._out, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self._read += part
        message, _, self._read = self._read.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """Start a browser with a profile of its own, and end it."""
    assert CHROMIUM is not None
    (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
    # It reads from descriptor 3 and writes to 4, whatever their numbers are here.
    mark = str(profile)
    script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *_alone(), CHROMIUM, *_FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(theirs_in, theirs_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, _MARK: mark},
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Page(ours_in, ours_out)
    finally:
        os.close(ours_in)  # a browser without anybody to hear ends itself
        os.close(ours_out)
        _end(process, mark)


def _alone() -> list[str]:
    """Give the browser a network of its own, with nothing in it: even asking for a way out sends nothing."""
    return ["unshare", "--net"] if os.geteuid() == 0 and shutil.which("unshare") else []


def _end(process: "subprocess.Popen[bytes]", mark: str) -> None:
    """Wait for the browser and all that it started, some of which outlives it for a moment; then end what is left."""
    end = time.monotonic() + _ENDING_S
    while process.poll() is None or (left := _marked(mark)):
        if time.monotonic() > end:
            for pid in {process.pid, *_marked(mark)}:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
            return
        time.sleep(0.05)
    assert not left


def _marked(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{_MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found
