"""`assay suites`: which defined loads are there?"""

from assay.cli.pipes import say


def suites() -> None:
    """List the loads that come with Assay, suites and examples, for `assay run NAME DIR`."""
    from assay.loads import suites as shipped

    width = max(map(len, (*shipped.names(), *shipped.examples())))
    for heading, names in (("suites", shipped.names()), ("examples", shipped.examples())):
        say(f"{heading}, for `assay run NAME DIR`:")
        for name in names:
            say(f"  {name:<{width}}  {shipped.description(name)}")
