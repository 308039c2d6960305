"""Names of elements that are too long to be kept are resolved and counted all the same."""

from __future__ import annotations

from reading import issues, locs, read, urlset

from sitemapreader.issues import IssueCode
from sitemapreader.models import Format
from sitemapreader.readers.records.names import Names

LONG = "x" * 100_000


def test_long_names_are_not_kept() -> None:
    """A long name is resolved, but is kept neither by itself nor as the name of an extra."""
    names = Names("urn:root", Format.URLSET, 10)
    assert names[f"{{urn:x}}{LONG}"].local == LONG
    assert names.count_extra(f"{{urn:x}}{LONG}").local == LONG
    assert names["{urn:root}URL"].own == "url"
    assert list(names) == ["{urn:root}URL"]
    kept = vars(names)["_of_extras"]
    assert len(kept) == 1
    assert LONG not in "".join(map(str, kept))


def test_long_names_are_counted() -> None:
    """Too many long names of extras end the reading, as short ones do."""
    records = b"".join(
        b"<url><loc>http://a.b/%d</loc><x:%s%d>t</x:%s%d></url>"
        % (number, b"n" * 3_000, number, b"n" * 3_000, number)
        for number in range(6)
    )
    assert len(locs(read(urlset(records), names=6))) == 6
    events = read(urlset(records), names=3)
    assert IssueCode.TOO_MANY_NAMES in issues(events)
    assert len(locs(events)) < 6
