"""Build the Vega-Lite specifications that Assay's figures need: data, marks and channels, as dictionaries.

https://vega.github.io/vega-lite/docs/. Properties keep Vega-Lite's names. Nothing is checked here: tests check each figure
against Vega-Lite's schema, and a check takes longer than all else of a report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

VERSION = "6.4"
"""As vl-convert spells it: what is written here, and the JavaScript that draws it, must agree."""
SCHEMA_URL = "https://vega.github.io/schema/vega-lite/v6.4.1.json"

_TYPES = {"Q": "quantitative", "O": "ordinal", "N": "nominal"}


class Channel(dict[str, Any]):
    """What a channel shows: `field:T` with T one of Q, O, N, and its properties; None is Vega-Lite's null."""

    def __init__(self, shorthand: str, **properties: Any) -> None:
        field, _, kind = shorthand.partition(":")
        super().__init__({"field": field} | ({"type": _TYPES[kind]} if kind else {}) | properties)


class X(Channel):
    """Place along the picture."""


class Y(Channel):
    """Place up the picture."""


class Color(Channel):
    """Colour; `scale=None` takes the field's values for colours."""


class Text(Channel):
    """Words."""


class Tooltip(Channel):
    """A line of the tooltip."""


class Order(Channel):
    """Which of a stack comes first."""


def properties(**named: Any) -> dict[str, Any]:
    """Name the properties of a scale, an axis or a legend."""
    return named


Scale = Axis = Legend = properties


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Rows that the figure carries, or CSV text with how to read it."""

    values: Sequence[Mapping[str, object]] | str
    format: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """One layer: data, what is done to them, a mark and its channels. Each method gives another chart."""

    data: Data
    mark: Mapping[str, Any] | None = None
    encoding: Mapping[str, Any] | None = None
    transform: tuple[Mapping[str, Any], ...] = ()

    def _marked(self, kind: str, named: Mapping[str, Any]) -> "Chart":
        return replace(self, mark={"type": kind, **named})

    def mark_area(self, **named: Any) -> "Chart":
        """Fill between a line and zero, or two lines."""
        return self._marked("area", named)

    def mark_bar(self, **named: Any) -> "Chart":
        """Draw bars."""
        return self._marked("bar", named)

    def mark_line(self, **named: Any) -> "Chart":
        """Draw lines."""
        return self._marked("line", named)

    def mark_point(self, **named: Any) -> "Chart":
        """Draw points."""
        return self._marked("point", named)

    def mark_rect(self, **named: Any) -> "Chart":
        """Draw rectangles."""
        return self._marked("rect", named)

    def mark_rule(self, **named: Any) -> "Chart":
        """Draw straight lines."""
        return self._marked("rule", named)

    def mark_text(self, **named: Any) -> "Chart":
        """Write words."""
        return self._marked("text", named)

    def mark_tick(self, **named: Any) -> "Chart":
        """Draw strokes."""
        return self._marked("tick", named)

    def encode(self, **channels: Channel | Sequence[Channel] | str) -> "Chart":
        """Set what channels show; a text is a channel without properties."""
        made = {name: Channel(shown) if isinstance(shown, str) else shown for name, shown in channels.items()}
        return replace(self, encoding={**(self.encoding or {}), **made})

    def transform_filter(self, expression: str) -> "Chart":
        """Keep the rows for which an expression holds."""
        return replace(self, transform=(*self.transform, {"filter": expression}))

    def transform_calculate(self, **expressions: str) -> "Chart":
        """Add a field for each expression."""
        added = ({"calculate": expression, "as": name} for name, expression in expressions.items())
        return replace(self, transform=(*self.transform, *added))

    def to_dict(self, datasets: dict[str, Any], names: dict[int, str]) -> dict[str, Any]:
        """Give the layer; its data go to `datasets`, once for all layers that have the same.

        Args:
            datasets: By name.
            names: Names of the data that are there already, by identity.
        """
        name = names.setdefault(id(self.data), f"d{len(names)}")
        datasets[name] = self.data.values
        encoding = {
            key: _secondary(shown) if key in {"x2", "y2"} else shown for key, shown in (self.encoding or {}).items()
        }
        return (
            {"data": {"name": name} | ({"format": self.data.format} if self.data.format else {})}
            | ({"transform": list(self.transform)} if self.transform else {})
            | {"mark": self.mark, "encoding": encoding}
        )


def _secondary(shown: Mapping[str, Any]) -> dict[str, Any]:
    """A second place is on the scale of the first and has no type of its own."""
    return {key: value for key, value in shown.items() if key != "type"}
