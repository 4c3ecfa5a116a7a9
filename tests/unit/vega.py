"""Vega-Lite's schema, as Altair carries it."""

import altair as alt
from altair.utils.schemapi import validate_jsonschema

from assay.report.figure import Figure


def check(figure: Figure) -> None:
    """Raise ValidationError where a figure's chart is none of Vega-Lite.

    The chart is looked at as a whole: `from_dict` of Altair looks at each part of a part as often as it guesses its kind.
    """
    validate_jsonschema(figure.chart.to_dict(), alt.LayerChart._schema, rootschema=alt.LayerChart._rootschema)
