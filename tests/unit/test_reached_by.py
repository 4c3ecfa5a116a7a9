"""How clients were reached is kept with the run, and says nothing that could not be typed."""

from pathlib import Path

import pytest

from assay.bundle.client_set import Reached, ReachedBy
from assay.cluster.asked import clients_asked
from assay.cluster.reached_by import reached_by_name

HOSTS = """
a
b=10.0.0.7
c       user=bench
d       port=2222
e       python=/opt/assay/bin/python
f       user=LAB\\me
here=local
"""


def test_each_client_has_the_way_by_which_it_was_reached(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(HOSTS)
    asked = clients_asked(hosts=str(tmp_path / "hosts"), observe="server", ssh_user="root")
    assert asked is not None

    found = reached_by_name(asked, ("a", "b", "c", "d", "e", "f", "here", "server"))

    assert found == {
        "a": Reached(way=ReachedBy.SSH, address="a", user="root"),
        "b": Reached(way=ReachedBy.SSH, address="10.0.0.7", user="root"),
        "c": Reached(way=ReachedBy.SSH, address="c", user="bench"),
        "d": Reached(way=ReachedBy.SSH, address="d", user="root", needs_file=True),
        "e": Reached(way=ReachedBy.SSH, address="e", user="root", needs_file=True),
        "f": Reached(way=ReachedBy.SSH, address="f", needs_file=True),
        "here": Reached(way=ReachedBy.LOCAL),
        "server": Reached(way=ReachedBy.SSH, address="server", user="root"),
    }


def test_who_joined_was_started_by_somebody_else(tmp_path: Path) -> None:
    asked = clients_asked(join=str(tmp_path), clients=2)
    assert asked is not None

    assert reached_by_name(asked, ("n1", "n2")) == dict.fromkeys(("n1", "n2"), Reached(way=ReachedBy.JOINED))


@pytest.mark.parametrize("word", ["-oProxyCommand=sh", "a;reboot", "a b", "$(id)", "a'b", "", "x" * 300])
def test_what_a_shell_or_ssh_would_obey_is_no_address_of_a_run(word: str) -> None:
    with pytest.raises(ValueError, match="is no address, or user, of ssh"):
        Reached(way=ReachedBy.SSH, address=word)
    with pytest.raises(ValueError, match="is no address, or user, of ssh"):
        Reached(way=ReachedBy.SSH, address="a", user=word)
