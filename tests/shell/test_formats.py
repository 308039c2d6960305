"""The format of an output: of its option, or of the name of its file."""

from __future__ import annotations

from argparse import Namespace

import pytest

from sitemapreader._cli.config import find_output_format
from sitemapreader._cli.options import (
    LIST_FORMATS,
    SCALE_FORMATS,
    TREE_FORMATS,
    WHY_FORMATS,
)
from sitemapreader._cli.parser import UsageError
from sitemapreader.output import FILE_FORMATS, FORMATS

ALL = (*FORMATS, *FILE_FORMATS)
FOUND = [
    (ALL, None, None, "urls"),
    (ALL, None, "-", "urls"),
    (ALL, None, "a", "urls"),
    (ALL, None, "a.txt", "urls"),
    (ALL, None, "A.CSV", "csv"),
    (ALL, None, "a.csv.gz", "csv"),
    (ALL, None, "a.ndjson", "jsonl"),
    (ALL, None, "a.atom", "atom"),
    (ALL, "csv", None, "csv"),
    (ALL, "csv", "a.txt", "csv"),
    (ALL, "csv", "a.csv", "csv"),
    (ALL, "csv", "a.data", "csv"),
    (ALL, "jsonl", "a.ndjson", "jsonl"),
    (TREE_FORMATS, None, None, "tree"),
    (TREE_FORMATS, None, "a.txt", "tree"),
    (TREE_FORMATS, None, "a.json", "json"),
    (TREE_FORMATS, "json", "a.txt", "json"),
    (LIST_FORMATS, None, "a.txt", "urls"),
    (WHY_FORMATS, None, "a.tsv.gz", "tsv"),
    (SCALE_FORMATS, None, "a.json", "json"),
]
WRONG = [
    (ALL, "csv", "a.json", "--format csv cannot be combined with a.json, whose suffix"),
    (ALL, "json", "a.csv.gz", "--json cannot be combined with a.csv.gz, whose suffix"),
    (TREE_FORMATS, "tree", "a.csv", "--format tree cannot be combined with a.csv"),
    (
        TREE_FORMATS,
        None,
        "a.csv",
        "-o: .csv cannot be written: end the name with .json",
    ),
    (TREE_FORMATS, None, "a.json.gz", "-o: .gz cannot be written: end the name with"),
    (TREE_FORMATS, None, "a.jsn", "-o: .jsn cannot be written: did you mean json?"),
    (LIST_FORMATS, None, "a.ndjso", "-o: .ndjso cannot be written:"),
]


@pytest.mark.cases(30)
@pytest.mark.parametrize(("formats", "chosen", "name", "form"), FOUND)
def test_the_format_of_an_output(
    formats: tuple[str, ...], chosen: str | None, name: str | None, form: str
) -> None:
    """The option counts where it fits the name; a name without a suffix has the first one."""
    arguments = Namespace(format=chosen, output=name, changes=True)
    assert find_output_format(arguments, formats) == form


@pytest.mark.cases(30)
@pytest.mark.parametrize(("formats", "chosen", "name", "said"), WRONG)
def test_an_output_without_a_format(
    formats: tuple[str, ...], chosen: str | None, name: str, said: str
) -> None:
    """A name that means another format, or none of the command, is refused with those."""
    arguments = Namespace(format=chosen, output=name, changes=False)
    with pytest.raises(UsageError) as caught:
        find_output_format(arguments, formats)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("changes", [True, False])
def test_a_feed_is_a_format_of_changes(*, changes: bool) -> None:
    """It is named among the suffixes only where it can be written."""
    arguments = Namespace(format=None, output="a.doc", changes=changes)
    with pytest.raises(UsageError) as caught:
        find_output_format(arguments)
    assert (".atom" in str(caught.value)) is changes
