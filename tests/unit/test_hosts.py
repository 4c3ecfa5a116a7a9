"""What `--hosts` names is read as people and clusters write it, within limits, and a fault says where."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bundle.client_set import MOST_CLIENTS, is_client_name
from assay.cluster.hosts import HostSpec, parse_hosts
from assay.errors import InputError

NOBODY = 65534


def _names(text: str) -> list[str]:
    return [host.name for host in parse_hosts(text)]


def test_words_between_commas_are_hosts_that_ssh_reaches_by_their_names() -> None:
    assert parse_hosts("a, b.lab,10.0.0.7") == (
        HostSpec(name="a", address="a"),
        HostSpec(name="b.lab", address="b.lab"),
        HostSpec(name="10.0.0.7", address="10.0.0.7"),
    )


def test_a_host_has_another_address_than_its_name_where_it_says_so() -> None:
    assert parse_hosts("a=2001:db8::1,b=server port=2222 user=lab python=/opt/a/python3") == (
        HostSpec(name="a", address="2001:db8::1"),
        HostSpec(name="b", address="server", port=2222, user="lab", python="/opt/a/python3"),
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node[01-03]", ["node01", "node02", "node03"]),
        ("node[9-11]", ["node9", "node10", "node11"]),
        ("node[098-101,7]", ["node098", "node099", "node100", "node101", "node7"]),
        ("r[1-2]n[1-2],x", ["r1n1", "r1n2", "r2n1", "r2n2", "x"]),
        ("n[1,3]x", ["n1x", "n3x"]),
    ],
)
def test_a_range_makes_a_host_of_each_number(text: str, names: list[str]) -> None:
    assert _names(text) == names


def test_ranges_of_names_and_addresses_go_side_by_side() -> None:
    assert [(host.name, host.address) for host in parse_hosts("n[1-3]=10.0.0.[11-13]")] == [
        ("n1", "10.0.0.11"),
        ("n2", "10.0.0.12"),
        ("n3", "10.0.0.13"),
    ]


def test_this_machine_needs_no_ssh_unless_an_address_is_named() -> None:
    assert parse_hosts("local,localhost,a=local,b=localhost") == (
        HostSpec(name="local", address=None),
        HostSpec(name="localhost", address=None),
        HostSpec(name="a", address=None),
        HostSpec(name="b", address="localhost"),
    )
    assert parse_hosts("local:3") == tuple(HostSpec(name=f"local-{number}", address=None) for number in (1, 2, 3))


def test_a_file_has_a_host_a_line_with_what_ssh_needs(tmp_path: Path) -> None:
    file = tmp_path / "lab"
    file.write_text(
        "# the lab\n\nnode[1-2] user=me  # both\nserver=10.0.0.7 port=22 python=/opt/assay/bin/python\nlocal\n"
    )

    assert parse_hosts(str(file)) == (
        HostSpec(name="node1", address="node1", user="me"),
        HostSpec(name="node2", address="node2", user="me"),
        HostSpec(name="server", address="10.0.0.7", port=22, python="/opt/assay/bin/python"),
        HostSpec(name="local", address=None),
    )


@pytest.mark.parametrize("who", ["another user", "every user may write", "a group may write"])
@pytest.mark.parametrize("word", ["python=/tmp/evil", "user=root", "port=2222"])
def test_a_file_that_others_may_have_written_names_hosts_and_nothing_more(tmp_path: Path, who: str, word: str) -> None:
    file = tmp_path / "lab"
    file.write_text("node[1-2]\nlocal=127.0.0.1 " + word + "\n")
    if who == "another user":
        if os.geteuid():
            pytest.skip("only root gives files away")
        os.chown(file, NOBODY, NOBODY)
    elif who == "a group may write":
        if os.geteuid():
            pytest.skip("only root gives files to a group of others")
        os.chown(file, 0, NOBODY)
        file.chmod(0o664)
    else:
        file.chmod(0o646)

    with pytest.raises(
        InputError, match=rf"^{file}:2: {word.partition('=')[0]}= is taken from a file of your own alone"
    ):
        parse_hosts(str(file))

    file.write_text("node[1-2]\nlocal\n")
    assert _names(str(file)) == ["node1", "node2", "local"]


def test_a_word_without_a_slash_is_a_file_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab").write_text("a\nb\n")

    assert _names("lab") == ["a", "b"]
    assert _names("lab,c") == ["lab", "c"]
    assert _names("lab2") == ["lab2"]


def test_a_file_that_others_put_in_the_way_does_not_stand_for_a_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "node1").write_text("node1=192.0.2.66\n")
    (tmp_path / "node1").chmod(0o666)

    with pytest.raises(
        InputError, match=r"^--hosts node1: a file of that name.* can be written by every user: write \./node1"
    ):
        parse_hosts("node1")
    assert parse_hosts("./node1") == (HostSpec(name="node1", address="192.0.2.66"),)
    assert parse_hosts("node1=node1") == (HostSpec(name="node1", address="node1"),)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a", "the client 'a' already exists (line 1)"),
        ("node[2-1]", "the range '2-1' ends before it begins"),
        ("node[1-", "a range is written as in"),
        ("node]1[", "a range is written as in"),
        ("node[]", "is not a range"),
        ("node[1-20001]", "of 20001 hosts; the limit is 20000"),
        ("node[1-999][1-999]", "is 998001 hosts; the limit is 20000"),
        ("n[1-3]=10.0.0.[1-2]", "has 3 names and 2 addresses"),
        ("b port=0", "ports are 1 to 65535"),
        ("b port=٣", "ports are 1 to 65535"),
        ("b port=1 port=2", "port= is there twice"),
        ("b python=bin/python", "give the whole path"),
        ("b user=-oProxyCommand=x", "is not a user name"),
        ("b shell=zsh", "'shell=zsh' is unknown here"),
        ("b c", "'c' is unknown here"),
        ("b=-oProxyCommand=x", "is not an address"),
        ("b=$(id)", "is not an address"),
        ("b=", "is not an address"),
        ("=b", "a name is missing"),
        ("root@b", "set the user with --ssh-user"),
        ("b:22", "put one in front"),
        ("2001:db8::1", "put one in front"),
        ("a..b", "is not a client name"),
        ("x" * 65, "is not a client name"),
        ("größe", "is not a client name"),
        ("b\x1b[2J", "a range is written as in"),
        ("local:0", "1 to 20000 can be"),
        ("local:99999", "1 to 20000 can be"),
        ("local user=me", "no user= and no port="),
        ("c" * 1001, "the line has more than 1000 characters"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "lab"
    file.write_text(f"a\n\n{line}\n")

    with pytest.raises(InputError) as refused:
        parse_hosts(str(file))

    assert str(refused.value).startswith(f"{file}:3: ")
    assert said in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("text", ["", ",", "a,,b", "a,a", "[", "a]", "a[1,", "-a", "/nowhere/hosts"])
def test_words_that_name_no_hosts_are_refused_by_the_option(text: str) -> None:
    with pytest.raises(InputError, match=r"^--observe"):
        parse_hosts(text, option="--observe")


def test_a_file_without_hosts_or_too_large_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "lab"
    file.write_text("# nobody\n")
    with pytest.raises(InputError, match="names no host"):
        parse_hosts(str(file))

    file.write_text("#" * (1 << 20) + "\n")
    with pytest.raises(InputError, match="has more than 1 MiB; that is no hosts file"):
        parse_hosts(str(file))

    file.write_text("".join(f"n{number}\n" for number in range(MOST_CLIENTS + 1)))
    with pytest.raises(InputError, match="more than 20000 hosts"):
        parse_hosts(str(file))


@given(st.text(alphabet="ab1-,.[]=:@ #/_\x1b\u0663", max_size=40))
def test_any_text_gives_names_that_clients_can_have_or_a_refusal(text: str) -> None:
    try:
        hosts = parse_hosts(text)
    except InputError:
        return

    assert hosts
    assert all(is_client_name(host.name) for host in hosts)
    assert len({host.name for host in hosts}) == len(hosts)
    assert not any((host.address or "").startswith("-") for host in hosts)
