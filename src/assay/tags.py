"""Choose the word by which the JSON of Plan and events names a type."""


def snake_case(name: str) -> str:
    """Turn the name of a class into its tag, as the Rust twins have it: `PhaseFinished` into `phase_finished`."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
