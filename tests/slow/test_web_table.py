"""The bad inputs of the web, one by one: see docs/threats.md.

Those of single documents (1 to 88, 152 to 158) have a table of their own, in `test_hostile`; 164 to
169 have tests of their own.
"""

from __future__ import annotations

import pytest
import web_http  # noqa: F401 (enters its rows in the table)
import web_process  # noqa: F401 (the same)
import web_robots  # noqa: F401 (the same)
import web_tls  # noqa: F401 (the same)
import web_urls  # noqa: F401 (the same)
from web_table import ROWS, try_row


@pytest.mark.parametrize("number", sorted(ROWS))
async def test_what_comes_of_a_bad_input(number: int) -> None:
    """The input ends in what the table expects of it: its code, and what is kept."""
    assert await try_row(number) == ROWS[number].expected


def test_the_table_has_every_number() -> None:
    """No input of the web, of robots.txt, of URLs or of the process is left out."""
    assert sorted(ROWS) == [83, 84, 85, *range(89, 152), *range(159, 164)]
