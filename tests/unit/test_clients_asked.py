"""What the options say of clients, and what cannot be meant."""

from pathlib import Path
from typing import Any

import pytest

from assay.bundle.client_set import OnLost, Share
from assay.cli.clients import clients_of
from assay.cluster.asked import clients_asked
from assay.cluster.hosts import HostSpec
from assay.errors import InputError
from assay.tools.front_end import FrontEnd, HostsAsked
from assay.tools.registry import front_end


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hosts": ""}, "--hosts: is empty"),
        ({"join": "", "clients": 2}, "--join: is empty"),
        ({"hosts": "a", "observe": ""}, "--observe: is empty"),
        ({"hosts": "a", "join": "j", "clients": 1}, "give one of them"),
        ({"join": "run7.json", "clients": 2}, "the file is called join.json"),
        ({"join": "j"}, "--join FILE and --clients N go together"),
        ({"hosts": "a", "join_wait": "5s"}, "--join-wait applies to workers that others start"),
        ({"join": "j", "clients": 2, "join_wait": "0"}, "--join-wait 0: is not a time to wait"),
        ({"join_wait": "5s"}, "--join-wait: is an option for runs of several clients"),
        (
            {"hosts": "a", "insecure": True, "insecure_as_root": True},
            "--insecure is for this machine alone, and a is another",
        ),
        ({"hosts": "local", "insecure_as_root": True}, "give both, or none"),
        ({"echo": True}, "--echo: is an option for runs of several clients"),
        ({"hosts": "a,b", "observe": "b"}, "b makes load already"),
        ({"hosts": "a", "share": "half"}, "--share half: is one of own, together, files, one-set"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        clients_asked(**options)


def test_workers_that_others_start_are_waited_for_as_long_as_asked() -> None:
    asked = [clients_asked(join="j", clients=2, join_wait=wait) for wait in (None, "90s", "2min")]

    assert [one.join_wait_s for one in asked if one] == [1800, 90, 120]


def _by_tool(tool: str, name: str) -> HostsAsked:
    """What a tool's own words ask for that name a host."""
    of: FrontEnd[Any] = front_end(tool)
    words, text = {
        "vdbench": (
            ["-f", "file"],
            f'hd=h1,system="{name}"\nsd=sd1,lun=/tmp/f,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1\n',
        ),
        "iozone": (["-+m", "file", "-t", "1", "-s", "64", "-r", "16", "-i", "0"], f"{name} /srv/x /tmp/evil\n"),
    }[tool]
    asked = of.hosts(of.parse(words, {"file": text}))
    assert asked is not None
    return asked


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        *(
            ("vdbench", name)
            for name in (
                "h1=local python=/tmp/evil",
                "h1=10.0.0.7 port=2222 user=root",
                "a b",
                "me@there",
                "h[1-3]",
                "local:3",
                "-oProxyCommand=x",
                "h1\tpython=/tmp/evil",
                "h1#",
                "$(id)",
            )
        ),
        *(
            ("iozone", name)
            for name in ("h1=local", "h1,h2", "/srv/hosts", "./hosts", "h[1-3]", "local:3", "-l", "h1=-l")
        ),
    ],
)
def test_a_tools_words_name_hosts_and_nothing_more(tool: str, name: str) -> None:
    asked = _by_tool(tool, name)

    with pytest.raises(InputError, match=r"is not a host name or IPv4 address.*--hosts on your own command line"):
        clients_of({"hosts": None, "insecure": False, "clients": None}, asked)


@pytest.mark.parametrize("tool", ["vdbench", "iozone"])
def test_a_name_in_a_tools_words_is_no_file_of_hosts(
    tool: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "node1").write_text("local python=/tmp/evil\n")

    asked = clients_of({"hosts": None, "insecure": False, "clients": None}, _by_tool(tool, "node1"))

    assert asked is not None
    assert asked.hosts == (HostSpec(name="node1", address="node1"),)
    assert asked.directories == ({"node1": Path("/srv/x")} if tool == "iozone" else None)


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


def test_root_goes_without_keys_only_where_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(InputError, match=r"--insecure as root: .* or add --insecure-as-root"):
        clients_asked(hosts="local:2", insecure=True)
    asked = clients_asked(hosts="local:2", insecure=True, insecure_as_root=True)
    assert asked is not None
    assert asked.is_insecure
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert clients_asked(hosts="local:2", insecure=True) is not None


def test_what_is_not_said_is_left_open() -> None:
    asked, said = clients_asked(hosts="a"), clients_asked(hosts="a", share="files", on_lost="abort")

    assert asked
    assert (asked.share, asked.on_lost) == (None, None)
    assert said
    assert (said.share, said.on_lost) == (Share.FILES, OnLost.ABORT)
