"""Show nothing: the display of `--quiet`."""

from assay import events
from assay.plan import Plan


class SilentDisplay:
    """Shows nothing while a run goes on."""

    def begin(self, plan: Plan) -> None:
        """Nothing is drawn."""

    def show(self, event: events.Event | None) -> None:
        """Show nothing."""

    def end(self) -> None:
        """There is nothing to give back."""
