"""What differs between two runs of a comparison: fields of their Plans, then facts of the machine."""

from collections.abc import Sequence

from assay.analysis.difference import Difference, diff_facts, diff_plans
from assay.bundle.scripts import name_scripts
from assay.host.facts import Fact
from assay.plan import Plan


def differing(plan: Plan, facts: Sequence[Fact], other: Plan, other_facts: Sequence[Fact]) -> tuple[Difference, ...]:
    """Say in which fields and facts two runs differ."""
    found = diff_plans(name_scripts(plan), name_scripts(other))
    # What is of the first repeat is of them all; the text that a Plan was made from says nothing that it does not.
    shown = [each for each in found if " repeat " not in each.key and not each.key.startswith("origin.")]
    return (*shown, *diff_facts(facts, other_facts))
