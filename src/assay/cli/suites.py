"""`assay suites`: which defined loads are there?"""

from assay.cli.pipes import say


def suites() -> None:
    """List the loads that come with Assay, for `assay run SUITE DIR`."""
    from assay.loads import suites as shipped

    width = max(len(name) for name in shipped.names())
    for name in shipped.names():
        say(f"{name:<{width}}  {shipped.description(name)}")
