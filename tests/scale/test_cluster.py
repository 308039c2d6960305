"""Runs on a cluster of Dask's: exact, whatever is killed."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from sitemapreader import FetchOptions
from sitemapreader.distributed import ScaleOptions, status
from sitemapreader.distributed.cluster import open_client
from tests.scale import scale_web
from tests.scale.scale_faults import SECONDS, ClusterFaults
from tests.scale.scale_runs import WebServer, read_statuses, serve_web
from tests.support.commands import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    """A web of many hosts."""
    with serve_web() as server:
        yield server


@pytest.mark.long
def test_whatever_dies_loses_nothing(web: WebServer, tmp_path: Path) -> None:
    """The client dies with its scheduler, then a worker: the same call reads what is missing.

    A host that kills the worker ends as one row, and so does one at which its event loop stands
    still; they harm no other, and each had one reader. The output has a relative path, and workers
    are in another folder.
    """
    good, trap, bomb = [0, 1, 2, 3, 5], 4, 418
    assert scale_web.find_kind(bomb) == "hang"  # the client dies while it is waited for
    patient = ScaleOptions(fetch=FetchOptions(proxy=web.make_options().fetch.proxy))
    faults = ClusterFaults(
        web, tmp_path, [*good, trap, bomb], partitions=4, options=patient
    )
    client = faults.start(workers=1)
    wait_until(lambda: status(str(tmp_path)).committed == 3)
    wait_until(lambda: "d418.com" in web.ask("/")["asked"])
    faults.kill(client)
    asked = Counter(web.ask("/")["asked"])
    deadly = {"trap": scale_web.name_host(trap), "bomb": scale_web.name_host(bomb)}
    assert faults.start(workers=1, **deadly).wait(SECONDS) == 0
    again = {*(Counter(web.ask("/")["asked"]) - asked)}
    assert again - {"d4.com"} == {"d5.com"}  # of its partition
    assert web.ask("/")["clashes"] == {}
    rows = read_statuses(tmp_path, "runs/0001", 4)
    for number in (trap, bomb):
        row = rows.pop(scale_web.name_site(number))
        ends = (row["status"], row["reason"], row["failures"])
        assert ends == ("error", "killed its process", 1)
    assert {site: row["entries"] for site, row in rows.items()} == {
        scale_web.name_site(number): scale_web.count_urls(number) for number in good
    }
    assert {row["status"] for row in rows.values()} == {"complete"}
    assert status(str(tmp_path)).urls == sum(map(scale_web.count_urls, good))


STRANGER = """
import ssl, sys, tempfile
from distributed import Client, Security

address, kind = sys.argv[1:]
context = ssl._create_unverified_context()
if kind == "own certificate":
    own = Security.temporary()
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(own.tls_client_key + own.tls_client_cert)
        file.flush()
        context.load_cert_chain(file.name)


class Careless(Security):
    def get_connection_args(self, role):
        return {"ssl_context": context, "require_encryption": True}


if kind == "plain":
    address, security = address.replace("tls://", "tcp://"), None
else:
    security = Careless(require_encryption=True)
try:
    Client(address, security=security, timeout=3)
except Exception as error:
    print("refused", type(error).__name__)
else:
    print("connected")
"""


def test_a_stranger_cannot_use_the_cluster() -> None:
    """Another program of the machine can reach scheduler and workers, and make none of them work.

    It speaks without TLS, with a certificate of its own, or with none.
    """
    with open_client(workers=1) as client:
        assert client.submit(pow, 2, 5).result() == 32
        about = client.scheduler_info(n_workers=-1)
        places = [about["address"], *about["workers"]]
        assert len(places) == 2
        assert all(place.startswith("tls://127.0.0.1:") for place in places)
        for kind in ("plain", "own certificate", "no certificate"):
            words = [sys.executable, "-c", STRANGER, places[0], kind]
            done = subprocess.run(
                words, capture_output=True, text=True, check=False, timeout=60
            )
            assert done.stdout.startswith("refused"), (kind, done.stdout, done.stderr)
