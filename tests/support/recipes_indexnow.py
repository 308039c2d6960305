"""Submits the changes of a site, as a process that can be killed: SITE STATE KEY ENDPOINT."""

from __future__ import annotations

import asyncio
import sys

from sitemapreader.recipes.indexnow import submit_changes

if __name__ == "__main__":
    site, state, key, endpoint = sys.argv[1:]
    result = asyncio.run(submit_changes(site, state=state, key=key, endpoint=endpoint))
    print(result.submitted, result.removed)  # noqa: T201 (what the test reads)
