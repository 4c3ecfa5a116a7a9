"""Is a campaign's file read as meant, laid out in full, and refused with its line where it leads elsewhere?"""

import re
from collections import Counter
from pathlib import Path

import pytest

from assay.campaign.campaign_file import Campaign, parse
from assay.campaign.design import design
from assay.campaign.journal import opened
from assay.campaign.mkfs_options import MkfsOption, mkfs_options, not_taken, with_extended, words_of
from assay.campaign.mounted_file_system import parse_dump_super, parse_dumpe2fs, parse_xfs_info
from assay.campaign.one_measurement import tags_of, words_for, write_input
from assay.errors import FrontEndError, InputError

WHOLE = """\
name = "three"
repeats = 4
seed = 7
scheduler = ["none", "bfq"]

[loop]
folder = "/var/tmp"
size = "1GiB"

[[file_system]]
kind = "ext4"
mount = { plain = "noatime", journal = "noatime,data=journal" }

[[file_system]]
kind = "xfs"
mkfs = "-m reflink=0"
mount = { plain = "noatime", journal = "noatime,logbsize=256k" }

[[load]]
name = "read"
command = "measure {dir} --read"

[[load]]
name = "post"
command = "postmark {input}"
input = '''
set location {dir}
run
'''
"""


def read(text: str = WHOLE) -> Campaign:
    return parse(text, "c.toml")


def refused(text: str) -> str:
    with pytest.raises(FrontEndError) as told:
        read(text)
    return str(told.value)


def test_the_file_of_the_documentation_is_a_campaign() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/matrix.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    assert len(design(read(text)).slots) == 3 * 3 * 3 * 3


def test_choices_of_the_same_names_are_a_factor_of_their_own() -> None:
    laid_out = design(read())

    assert [(factor.name, factor.levels) for factor in laid_out.factors] == [
        ("file_system", ("ext4", "xfs")),
        ("mount", ("plain", "journal")),
        ("scheduler", ("none", "bfq")),
    ]
    assert [cell.levels for cell in laid_out.cells][:3] == [
        ("ext4", "plain", "none"),
        ("ext4", "plain", "bfq"),
        ("ext4", "journal", "none"),
    ]
    xfs = laid_out.cells[-1]
    assert (xfs.kind, xfs.mkfs, xfs.mount, xfs.scheduler) == ("xfs", "-m reflink=0", "noatime,logbsize=256k", "bfq")


def test_choices_of_other_names_are_part_of_the_file_system() -> None:
    laid_out = design(read(WHOLE.replace('journal = "noatime,logbsize=256k"', 'large = "noatime,logbsize=256k"')))

    assert [(factor.name, factor.levels) for factor in laid_out.factors] == [
        ("file_system", ("ext4/plain", "ext4/journal", "xfs/plain", "xfs/large")),
        ("scheduler", ("none", "bfq")),
    ]
    assert [cell.mount for cell in laid_out.cells[::2]] == [
        "noatime", "noatime,data=journal", "noatime", "noatime,logbsize=256k",
    ]  # fmt: skip


def test_every_round_has_each_cell_with_each_load_once_in_an_order_of_its_own() -> None:
    laid_out = design(read())

    assert Counter((slot.cell, slot.load) for slot in laid_out.slots) == {
        (cell, load): 4 for cell in range(8) for load in range(2)
    }
    rounds = [[(slot.cell, slot.load) for slot in laid_out.slots if slot.round == number] for number in range(1, 5)]
    assert all(len(set(order)) == 16 for order in rounds)
    assert len({tuple(order) for order in rounds}) == 4
    assert [slot.number for slot in laid_out.slots] == list(range(1, 65))
    assert design(read()).slots == laid_out.slots
    assert design(read(WHOLE.replace("seed = 7", "seed = 8"))).slots != laid_out.slots


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('name = "three"', 'name = "a b"', "c.toml:1: name: 'a b' is no name"),
        ("repeats = 4", "repeats = 0", "c.toml:2: repeats: 0 is not from 1 to 100"),
        ("repeats = 4", 'repeats = "4"', "c.toml:2: repeats: Expected `int`, got `str`"),
        ("repeats = 4", "repeat = 4", "c.toml:2: repeat: Object contains unknown field `repeat`"),
        ('"none", "bfq"', '"none", "none"', "c.toml:4: scheduler: 'none' is there twice"),
        ('"none", "bfq"', '"no ne"', "c.toml:4: scheduler: 'no ne' is no name"),
        ('"1GiB"', '"100MiB"', "c.toml:8: loop.size: 100MiB is too small"),
        ('"1GiB"', '"1GB"', "c.toml:8: loop.size: "),
        ('"/var/tmp"', '"tmp"', "c.toml:7: loop.folder: 'tmp' is no absolute path"),
        ('kind = "ext4"', 'kind = "ext5"', "c.toml:11: file_system.kind: Invalid enum value 'ext5'"),
        ('kind = "xfs"', 'kind = "xfs"\nname = "ext4"', "c.toml:14: file_system: 'ext4' is there twice"),
        (
            "noatime,data=journal",
            "noatime,loop=/dev/sda",
            "c.toml:12: file_system.mount: 'loop=/dev/sda' is no mount option",
        ),
        ("noatime,data=journal", "bind", "c.toml:12: file_system.mount: 'bind' is not for a campaign"),
        ("noatime,data=journal", "journal_dev=2049", "c.toml:12: file_system.mount: 'journal_dev=2049' is not for"),
        ("-m reflink=0", "/dev/sdb", "c.toml:16: file_system.mkfs: '/dev/sdb' is no option of mkfs.xfs"),
        ("-m reflink=0", "-l logdev=sdb", "c.toml:16: file_system.mkfs: 'logdev=sdb' may name another device"),
        ("-m reflink=0", "-m 'reflink=0", "c.toml:16: file_system.mkfs: "),
        ("measure {dir} --read", "measure /mnt --read", "c.toml:19: load: {dir} is missing"),
        ("measure {dir} --read", "ls {dir}", "c.toml:21: load.command: it begins with no command that measures"),
        (
            "measure {dir} --read",
            "measure {dir} --runs=/x",
            "c.toml:21: load.command: --runs is for the whole campaign",
        ),
        ("postmark {input}", "postmark x", "c.toml:23: load: {input} in the command is replaced by"),
        ('name = "post"', 'name = "read"', "c.toml:23: load: 'read' is there twice"),
        ('name = "post"', "", "c.toml:23: load.name: Object missing required field `name`"),
        ('name = "three"', 'name = "three', "c.toml:1: this is not TOML"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(before: str, after: str, told: str) -> None:
    assert before in WHOLE

    assert told in refused(WHOLE.replace(before, after, 1))


def test_more_measurements_than_a_campaign_has_are_refused() -> None:
    names = ", ".join(f'"s{i}"' for i in range(40))

    assert "are the most" in refused(WHOLE.replace('"none", "bfq"', names).replace("repeats = 4", "repeats = 100"))


# -- mkfs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("ext4", "-O ^has_journal -b1024", [("O", "^has_journal"), ("b", "1024")]),
        ("xfs", "-m reflink=0,crc=1 -K", [("m", "reflink=0,crc=1"), ("K", None)]),
        ("btrfs", "--nodesize=16k --csum xxhash -M", [("n", "16k"), ("csum", "xxhash"), ("M", None)]),
        ("ext4", "", []),
    ],
)
def test_options_of_mkfs_are_read(kind: str, text: str, expected: list[tuple[str, str | None]]) -> None:
    assert list(mkfs_options(kind, text)) == [MkfsOption(*each) for each in expected]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ext4", "-n"), ("ext4", "-Fn"), ("ext4", "-Kn"), ("ext4", "-F"), ("ext4", "-S"), ("ext4", "-d folder"),
        ("ext4", "-J device=sdb"), ("ext4", "-J device=UUID=x"), ("ext4", "-b"), ("ext4", "-U clear"), ("ext4", "sdb"),
        ("ext4", "-b -F"), ("xfs", "-N"), ("xfs", "-f"), ("xfs", "-p proto"), ("xfs", "-d file,name=x"), ("xfs", "-c x"),
        ("xfs", "-r rtdev=sdb"), ("xfs", "-m uuid=x"), ("btrfs", "sdb sdc"), ("btrfs", "-r folder"), ("btrfs", "-f"),
        ("btrfs", "--rootdir=folder"), ("btrfs", "--force"), ("btrfs", "-m ../x"), ("btrfs", "--"), ("btrfs", "-"),
    ],
)  # fmt: skip
def test_words_by_which_mkfs_would_go_elsewhere_are_refused(kind: str, text: str) -> None:
    with pytest.raises(InputError):
        mkfs_options(kind, text)


def test_extended_options_are_one_because_mke2fs_obeys_the_last_alone() -> None:
    options = with_extended(mkfs_options("ext4", "-E stride=16 -b 4096"), "nodiscard")

    assert words_of(options) == ["-b", "4096", "-E", "nodiscard,stride=16"]
    assert words_of(with_extended((), "nodiscard")) == ["-E", "nodiscard"]


# What dumpe2fs 1.47, xfs_info 6.1 and btrfs-progs 6.2 print.
DUMPE2FS = """\
Filesystem volume name:   <none>
Filesystem features:      ext_attr resize_inode dir_index filetype extent 64bit
Block count:              131072
Block size:               4096
Inode size:	          256
"""
XFS_INFO = """\
meta-data=/dev/loop0             isize=512    agcount=4, agsize=25600 blks
         =                       sectsz=512   attr=2, projid32bit=1
         =                       reflink=0    bigtime=1 inobtcount=1 nrext64=0
data     =                       bsize=4096   blocks=102400, imaxpct=25
naming   =version 2              bsize=4096   ascii-ci=0, ftype=1
"""
DUMP_SUPER = """\
csum_type		0 (crc32c)
csum			0xe896b2db [match]
sectorsize		4096
nodesize		16384
"""


def test_what_a_super_block_says_otherwise_is_named() -> None:
    ext4 = parse_dumpe2fs(DUMPE2FS)
    assert ext4["block size"] == "4096"
    assert not_taken("ext4", mkfs_options("ext4", "-b 4k -O ^has_journal,extent"), ext4) == ()
    assert not_taken("ext4", mkfs_options("ext4", "-b 1024 -O bigalloc,^extent"), ext4) == (
        "block size is 4096, not 1024",
        "feature bigalloc",
        "feature ^extent",
    )
    xfs = parse_xfs_info(XFS_INFO)
    assert not_taken("xfs", mkfs_options("xfs", "-m reflink=0 -b size=4k -i size=512"), xfs) == ()
    assert not_taken("xfs", mkfs_options("xfs", "-m reflink=1 -b size=1k"), xfs) == (
        "meta-data.reflink is 0, not 1",
        "data.bsize is 4096, not 1k",
    )
    btrfs = parse_dump_super(DUMP_SUPER)
    assert btrfs == {"csum_type": "crc32c", "sectorsize": "4096", "nodesize": "16384"}
    assert not_taken("btrfs", mkfs_options("btrfs", "-n 32k --csum crc32c"), btrfs) == ("nodesize is 16384, not 32k",)


# -- loads --------------------------------------------------------------------------------------------------------------


def test_the_directory_of_a_cell_is_put_in_and_the_input_written(tmp_path: Path) -> None:
    of_words, of_file = read().loads

    assert words_for(of_words, Path("/m/x y"), None) == ["measure", "/m/x y", "--read"]
    victim = tmp_path / "victim"
    victim.write_text("thesis")
    with opened(tmp_path / "c") as journal:
        (journal.folder / "post.input").hardlink_to(victim)
        written = write_input(of_file, Path("/m"), journal)
    assert written is not None
    assert written.read_text() == "set location /m\nrun\n"
    assert victim.read_text() == "thesis"
    assert words_for(of_file, Path("/m"), written) == ["postmark", str(written)]


def test_a_run_is_tagged_with_its_campaign_and_its_levels() -> None:
    campaign = read()
    laid_out = design(campaign)

    tags = tags_of("three", laid_out, laid_out.cells[1], campaign.loads[0], 2)

    assert tags == ("three", "file_system-ext4", "mount-plain", "scheduler-bfq", "load-read", "round-2")
