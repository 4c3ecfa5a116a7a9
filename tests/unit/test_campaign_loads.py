"""Does a load of a campaign measure the directory of its cell, and do nothing else, whatever its words are?"""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from assay.campaign.campaign_file import Campaign, parse
from assay.campaign.load_words import OF_CLIENTS
from assay.cli import app, clients
from assay.cli.cells_of_loads import check_cells
from assay.confinement import ONLY_IN, check_action, check_output, check_plan
from assay.errors import FrontEndError, InputError
from assay.loads import native
from assay.plan import Plan
from assay.tools.registry import TOOLS, front_end

FILE = """\
name = "c"
[[file_system]]
kind = "ext4"
[[load]]
name = "x"
command = '{command}'
input = '''
{input}'''
"""
VDBENCH = (
    "fsd=f,anchor={dir},depth=1,width=1,files=1,size=4k\nfwd=w,fsd=f,operation=read,threads=1\nrd=r,fwd=w,elapsed=4\n"
)
POSTMARK = "set location {dir}\nset number 5\nset transactions 5\n"
FILEBENCH = "define fileset name=a,path={dir},entries=1,filesize=4k\n"


def read(command: str, text: str = "") -> Campaign:
    written = FILE.format(command=command, input=text)
    return parse(written if text else written.replace("input = '''\n'''", ""), "c.toml")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("measure {dir} --write --bs 64k --note x", ""),
        ("run {dir}/load.toml {dir}", ""),
        ("quick {dir} -q", ""),
        ("fio --name=a --directory={dir} --rw=read --size=1m --output={dir}/out", ""),
        ("fio {input}", "[a]\ndirectory={dir}\nrw=read\nsize=1m\n"),
        ("bigdir 64 32 --clients 2 --dir {dir}", ""),
        ("iozone -a -g 64k -Q -f {dir}/x -Rb {dir}/sheet.xls", "") ,
        ("bonnie -d {dir} -u root -s 128 -r 0 -n 4 -q", ""),
        ("vdbench -f {input} -o {dir}/out", VDBENCH),
        ("postmark {input}", f"{POSTMARK}run {{dir}}/report\nquit\n"),
        ("postmark {input}", f"{POSTMARK}run\n"),
        ("postmark {input}", f"{POSTMARK}set transactions 100000000\nrun\n"),  # looked at without its list of them
        ("perfpl 4096 1 5 5 1 --mode fork --dir {dir}", ""),
        ("vxbench -w read -i iosize=4k,iocount=4 {dir}/x", ""),
    ],
)  # fmt: skip
def test_loads_that_measure_their_cell_are_taken(
    command: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "-Q" in command:
        with pytest.raises(FrontEndError, match=r"'wol\.dat' is not in \{dir\}"):
            read(command, text)
        command = command.replace(" -Q", "")

    read(command, text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "text", "told"),
    [
        *[(f"{tool} {{dir}} {option}", "", f"{option.split('=')[0]}: ")
          for tool in ("measure", "run", "quick", "iozone", "fio", "postmark", "filebench", "vxbench")
          for option in ("--hosts=a", "--observe=a", "--join=f", "--echo", "--insecure", "--ssh-user=x",
                         "--allow-commands")],
        ("run l.toml {dir} --target=a=/etc", "", "--target: "),
        ("run l.toml {dir} --target a=/etc", "", "--target: "),
        ("measure {dir} --live-json /etc/passwd", "", "--live-json is for the whole campaign"),
        ("measure {dir} --name x", "", "--name is for the whole campaign"),
        ("iozone --name x -a -g 64k -f {dir}/x", "", "--name is for the whole campaign"),
        ("iozone -a -g 64k -f {dir}/x -Rb /etc/victim.xls", "", "'/etc/victim.xls' is not in {dir}"),
        ("iozone -a -g 64k -f {dir}/x -Rb victim.xls", "", "'victim.xls' is not in {dir}"),
        ("iozone -a -g 64k -f {dir}/x -b {dir}/../victim", "", "'{dir}/../victim' is not in {dir}"),
        ("iozone -t 1 -i 0 -+m {input}", "other {dir} /bin/iozone\n", "-+m names clients"),
        ("postmark {input}", f"{POSTMARK}run /etc/victim\nquit\n", "'/etc/victim' is not in {dir}"),
        ("postmark {input}", f"{POSTMARK}run {{dir}}2\nquit\n", "is not in {dir}"),
        ("postmark {input}", f"{POSTMARK}show /etc/victim\nrun\nquit\n", "'/etc/victim' is not in {dir}"),
        ("postmark {input}", f"{POSTMARK}quit\n", "these words measure nothing"),
        ("postmark {input}", f"{POSTMARK}set location /srv\nrun\nquit\n", "'/srv' is not in {dir}"),
        ("fio {input}", "[a]\ndirectory={dir}\nrw=read\nsize=1m\n[b]\ndirectory=/srv\nrw=read\nsize=1m\n",
         "'/srv' is not in {dir}"),
        ("fio --name=a --directory={dir}/none --rw=read --size=1m", "", "{dir}/none does not exist"),
        ("vdbench -f {input}", VDBENCH.replace("{dir}", "/srv/{dir}"), "does not exist"),
        ("iozone -a -g 64k -f /srv/x -b {dir}/x", "", "'/srv' is not in {dir}"),
        ("postmark {input}", f"{POSTMARK}!touch /tmp/x\nquit\n", "programs are started at the interactive prompt"),
        ("vdbench -f {input} -o /etc", VDBENCH, "is not in {dir}"),
        ("vdbench -f {input}", f"hd=h1,system=other\nhd=h2,system=another\n{VDBENCH}", "names clients"),
        ("fio --name=a --directory={dir} --rw=read --size=1m --output=/etc/victim", "", "'/etc/victim' is not in {dir}"),
        ("fio {input}", "[a]\ndirectory={dir}\nrw=read\nsize=1m\nexec_prerun=touch x\n", "no command is run"),
        ("fio - --directory={dir} --output={dir}/out", "", "is a device; a job file is a regular file"),
        ("bonnie -d {dir} -u root -p 3", "", "making and removing semaphores is no measurement"),
        ("fio --name=a --directory={dir} --rw=read --size=1m --showcmd", "", "these words measure nothing"),
        ("filebench -f {input} --dir {dir} --time 1", FILEBENCH + 'system "touch /tmp/x"\n', "--allow-commands"),
    ],
)  # fmt: skip
def test_loads_that_do_more_than_measure_are_refused_with_file_and_line(
    command: str, text: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(FrontEndError) as refused:
        read(command, text)

    assert str(refused.value).startswith("c.toml:6: load.command: ")
    assert told in str(refused.value)
    assert list(tmp_path.iterdir()) == []


LOAD = """
name = "l"
[[file_set]]
name = "data"
files = 1
size = "4KiB"
[[phase]]
name = "p"
[[phase.job]]
op = {op}
"""
MIRRORED = """
name = "l"
[[target]]
name = "mirror"
{uri}
[[file_set]]
name = "data"
target = "mirror"
files = 1
size = "4KiB"
[[phase]]
name = "p"
[[phase.job]]
op = {{ op = "read", set = "data", size = "4KiB" }}
"""


@pytest.mark.parametrize(
    ("command", "text", "told"),
    [
        ("measure {dir} --read", "", ""),
        ("run {input} {dir}", MIRRORED.format(uri=""), ""),
        ("run {input} {dir}", MIRRORED.format(uri='uri = "file:///srv"'), "'/srv' is not in {dir}"),
        (
            "run {input} {dir}",
            LOAD.replace("{op}", '{ op = "spawn", set = "data", argv = ["touch", "{path}"] }'),
            "touch",
        ),
        ("measure /srv --read --note {dir}", "", "'/srv' is not in {dir}"),
        ("quick /srv --note={dir}", "", "'/srv' is not in {dir}"),
        ("run none.toml {dir}", "", "none.toml"),
        ("quick {dir} --nonsense", "", "No such option"),
        ("measure {dir} --read --help", "", "measure nothing"),
    ],
)
def test_commands_that_do_more_than_measure_are_refused_before_anything_is_made(
    command: str, text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    group: Any = get_command(app)
    root = group.make_context("assay", [], resilient_parsing=True)
    campaign = read(command, text)

    with pytest.raises(InputError, match="load 'x': ") if told else contextlib.nullcontext() as refused:
        check_cells(campaign, root)

    assert refused is None or told in str(refused.value)
    assert capsys.readouterr() == ("", "")


def test_every_option_of_clients_is_refused() -> None:
    assert {f"--{name.replace('_', '-')}" for name in (*clients.WORDS, *clients.FLAGS)} == OF_CLIENTS


# -- where a load is carried out ------------------------------------------------------------------------------------------


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands are confined to."""
    folder = tmp_path / "cell"
    folder.mkdir()
    monkeypatch.setenv(ONLY_IN, str(folder))
    return folder


READ = '{ op = "read", set = "data", size = "4KiB" }'
SPAWN = '{ op = "spawn", set = "data", argv = ["touch", "{path}"] }'


def plan_of(directory: Path, op: str = READ) -> Plan:
    return native.parse(LOAD.replace("{op}", op), "l.toml", directory=directory, settings={}, repeat=1)


def test_a_confined_run_measures_and_writes_in_its_folder_alone(cell: Path, tmp_path: Path) -> None:
    (cell / "link").symlink_to(tmp_path)
    (cell / "sub").mkdir()
    check_plan(plan_of(cell), [str(cell / "out"), str(cell / "sub/out")], own_programs=())
    check_plan(plan_of(cell, SPAWN), [], own_programs={"touch"})

    for plan, outputs, told in (
        (plan_of(tmp_path), [], "is not in"),
        (plan_of(cell, SPAWN), [], "running touch"),
        (plan_of(cell), ["out"], "is not in"),
        (plan_of(cell), [str(tmp_path / "out")], "is not in"),
        (plan_of(cell), [f"{cell}2/out"], "is not in"),
        (plan_of(cell), [str(cell / "../out")], "is not in"),
        (plan_of(cell), [str(cell / "link/out")], "goes by a link"),
        (plan_of(cell), [str(cell / "link")], "goes by a link"),
        (plan_of(cell), [str(cell / ("x" * 9999))], "can be no name of a file"),
        (plan_of(cell), [str(cell / "x\0")], "can be no name of a file"),
    ):
        with pytest.raises(InputError, match=told):
            check_plan(plan, outputs, own_programs=())


def test_nobody_is_confined_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ONLY_IN, raising=False)

    check_plan(plan_of(tmp_path, SPAWN), ["out"], own_programs=())
    check_output("out")
    check_action("anything")


@pytest.mark.parametrize("tool", TOOLS)
def test_programs_of_scripts_are_none_of_the_tools_own(tool: str) -> None:
    assert front_end(tool).own_programs == ({"dd"} if tool == "perfpl" else frozenset())
