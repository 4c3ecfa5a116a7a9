"""The sample outputs of the documentation: each block is one that a command makes, and is cut out where it should be."""

from bench.samples import BLOCK, PAGES, SAMPLES, answer, findings, head, table

PRINTED = """\
run      1
target   /mnt

   operation      served by  trust
        IOPS   MiB/s
 1 a              storage yes
           1       1
 2 b              storage no
           2       2

the legend

warning  w  row 2
  words

weak  x  row 1
  words

kept in  here
report   there

b: 2.
Not usable: w (row 2).
"""


def test_every_sample_is_made_and_every_one_that_is_made_is_shown() -> None:
    shown = {name for page in PAGES for _, name, _, _ in BLOCK.findall(page.read_text())}

    assert shown == set(SAMPLES)


def test_no_sample_is_empty() -> None:
    assert [name for page in PAGES for _, name, text, _ in BLOCK.findall(page.read_text()) if not text.strip()] == []


def test_parts_are_cut_out_of_what_was_printed() -> None:
    assert head(PRINTED) == "run      1\ntarget   /mnt\n"
    assert table(PRINTED, 1).splitlines()[-1] == "           1       1"
    assert table(PRINTED).splitlines()[-1] == "           2       2"
    assert findings(PRINTED, 1) == "warning  w  row 2\n  words\n"
    assert answer(PRINTED) == "b: 2.\nNot usable: w (row 2).\n"
