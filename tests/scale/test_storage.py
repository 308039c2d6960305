"""Storage of an output: creation that succeeds once, whole files, in a folder and on S3."""

from __future__ import annotations

import io
import threading
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from sitemapreader import FetchOptions
from sitemapreader.distributed import (
    ScaleOptions,
    begin_run,
    finish,
    run_partition,
)
from sitemapreader.distributed.storage import Storage
from tests.scale import scale_web
from tests.scale.scale_runs import run_all, serve_web
from tests.support.scale import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def s3_bucket() -> Iterator[str]:
    """An S3 of moto's on loopback, with a bucket."""
    moto = pytest.importorskip(
        "moto.server", reason="no moto: pip install moto[server]"
    )
    s3fs = pytest.importorskip("s3fs", reason="no s3fs: pip install s3fs")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    answer, turn = server._server.app, threading.Lock()

    def answer_in_turn(*request: Any) -> list[bytes]:
        with turn:  # moto looks for an object, and then makes it; S3 does both at once
            return list(answer(*request))

    server._server.app = answer_in_turn
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        # moto keeps those of a server that has stopped
        bucket = f"crawls-{token_hex(4)}"
        s3fs.S3FileSystem().mkdir(bucket)
        yield f"s3://{bucket}/out"
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.slow)])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """An empty output in a folder, or on S3."""
    if request.param == "folder":
        return Storage(str(tmp_path / "out"))
    return Storage(f"{request.getfixturevalue('s3_bucket')}/{request.node.name}")


def test_a_folder_is_named_by_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers have other working folders, and get the name from the run."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "out"
    for name in ("out", "./out/", str(folder), folder.as_uri()):
        assert Storage(name).output == str(folder), name


def test_a_file_is_created_once(storage: Storage) -> None:
    """Of many who create one name at the same time, one does, and all read what it wrote."""
    found = set()
    barrier = threading.Barrier(4)

    def create(number: int) -> None:
        own = Storage(storage.output)
        barrier.wait()
        own.create("commits/p-00001.json", b"%d" % number)
        found.add(own.read("commits/p-00001.json"))

    threads = [threading.Thread(target=create, args=(each,)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {storage.read("commits/p-00001.json")}


def test_files_are_created_listed_and_removed(storage: Storage, tmp_path: Path) -> None:
    """What is written is listed and read, also by somebody who looked before it was there."""
    other = Storage(storage.output)
    assert other.list("a") == []
    assert other.read("a/2") is None
    assert other.load("a/2", dict) is None
    (tmp_path / "local").write_bytes(b"12345")
    storage.create("a/1", tmp_path / "local")
    storage.create("a/2", b'{"x": 2}')
    assert other.list("a") == ["1", "2"]
    assert other.list("") == ["a"]
    assert other.load("a/2", dict) == {"x": 2}
    assert other.read("a/1") == b"12345"
    other.download("a/1", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"12345"
    for path in ("a/1", "a/none", "a/2"):
        storage.remove(path)
    assert other.list("a") == []
    with pytest.raises(FileNotFoundError):
        other.download("a/1", tmp_path / "back")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(SCALE))
def test_a_run_works_on_s3(s3_bucket: str, number: int) -> None:
    """Lists, rows, statuses, states and commits lie on S3, and the second day needs all of them."""
    output, numbers = f"{s3_bucket}/run-{number}", range(4)
    storage = Storage(output)
    with serve_web() as web:
        sites = [scale_web.name_site(number) for number in numbers]
        patient = ScaleOptions(fetch=FetchOptions(proxy=f"http://127.0.0.1:{web.port}"))
        for day, wanted in enumerate((sum(map(scale_web.count_urls, numbers)), 0)):
            run = begin_run(output, None if day else sites, patient, partitions=2)
            commits = run_all(output, run.folder, [1, 0, 1])
            totals = finish(output, run)
            assert [each.memory for each in commits] == 3 * ["kept" if day else "none"]
            assert (totals.run, totals.urls) == (f"runs/000{day + 1}", wanted)
            names = storage.list(f"{run.folder}/urls")
            assert {name[8:24] for name in names} <= {
                commit.token for commit in commits
            }
            files = [
                io.BytesIO(storage.read(f"{run.folder}/urls/{name}") or b"")
                for name in names
            ]
            assert sum(pq.read_table(file).num_rows for file in files) == wanted


def test_a_request_whose_response_is_lost_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that is repeated is refused by what it has made itself: that commit is ours."""
    output, create = str(tmp_path), Storage.create

    def create_twice(storage: Storage, path: str, data: bytes) -> None:
        create(storage, path, data)
        create(storage, path, data)

    monkeypatch.setattr(Storage, "create", create_twice)
    run = begin_run(output, ["http://127.0.0.1:9/"])
    commit = run_partition(output, run.folder, 0)
    assert finish(output, run).hosts == 1
    assert list((tmp_path / run.folder / "state").glob(f"p-00000-{commit.token}.*"))


def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that cannot be written whole is not there, and the others are as they were."""
    storage, local = Storage(str(tmp_path / "output")), tmp_path / "local"
    storage.create("a", b"old")
    local.write_bytes(b"new")

    def refuse(descriptor: int) -> None:
        del descriptor
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", refuse)
    for data in (local, b"new"):
        with pytest.raises(OSError, match="No space"):
            storage.create("b", data)
    assert [path.name for path in (tmp_path / "output").iterdir()] == ["a"]
    assert storage.read("a") == b"old"
