"""What the options say of clients, and what cannot be meant."""

from pathlib import Path
from typing import Any

import pytest

from assay.bundle.client_set import OnLost, Share
from assay.cli.clients import clients_of
from assay.cluster.asked import clients_asked
from assay.errors import InputError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hosts": ""}, "--hosts: is empty"),
        ({"join": "", "clients": 2}, "--join: is empty"),
        ({"hosts": "a", "observe": ""}, "--observe: is empty"),
        ({"hosts": "a", "join": "j", "clients": 1}, "give one of them"),
        ({"join": "run7.json", "clients": 2}, "the file is called join.json"),
        ({"join": "j"}, "--join FILE and --clients N go together"),
        ({"hosts": "a", "insecure": True}, "--insecure is for this machine alone, and a is another"),
        ({"echo": True}, "--echo: says something of clients"),
        ({"hosts": "a,b", "observe": "b"}, "b makes load already"),
        ({"hosts": "a", "share": "half"}, "--share half: is one of own, together, files, one-set"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        clients_asked(**options)


def test_an_empty_word_is_not_this_machine_alone() -> None:
    with pytest.raises(InputError, match="--hosts: is empty"):
        clients_of({"hosts": "", "insecure": False, "clients": None})
    assert clients_of({"hosts": None, "insecure": False, "clients": None}) is None


def test_the_folder_to_join_by_may_be_named_with_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for words in ("here", "here/join.json"):
        asked = clients_asked(join=words, clients=3)
        assert asked
        assert asked.join == tmp_path / "here"


def test_what_is_not_said_is_left_open() -> None:
    asked, said = clients_asked(hosts="a"), clients_asked(hosts="a", share="files", on_lost="abort")

    assert asked
    assert (asked.share, asked.on_lost) == (None, None)
    assert said
    assert (said.share, said.on_lost) == (Share.FILES, OnLost.ABORT)
