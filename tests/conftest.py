"""What all tests share: hypothesis' profile, markers by folder, and `--regenerate`."""

from __future__ import annotations

import atexit
import compileall
import faulthandler
import gc
import ipaddress
import os
import re
import signal
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.package import PACKAGE
from tests.support.scale import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parent
FEW = 5
CASES = {"audit": 1, "shell": 3, "state": 2, "watch": 1}
"""Folder whose tests take long -> cases of a test that run by default; all others are slow.

The marker `cases` says another number for one test.
"""
SLOW = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.slow", re.MULTILINE)
"""What a module says whose tests are all slow: others are imported by each worker."""
HAS_SLOW = re.compile(r"mark\.(slow|cases)|thorough")
"""What a module says that has slow tests."""

# Without bytecode on disk each worker would compile all tests and libraries anew, for 4 s.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# In memory, where programs may lie there: states and databases of tests wait for no disk.
MEMORY = "/dev/shm"  # noqa: S108 (what is made in it has names and rights as in /tmp)
with suppress(OSError, AttributeError):
    memory = os.statvfs(MEMORY)
    if memory.f_bavail * memory.f_frsize > 4 << 30 and not memory.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("TMPDIR", MEMORY)
        tempfile.tempdir = None  # it is looked up again

# Tests answer for names in `socket.getaddrinfo`, which aiodns would not ask.
sys.modules.setdefault("aiodns", None)  # type: ignore[arg-type]

# What a shell runs in the background ignores Ctrl-C; the programs that are tested would as well.
signal.signal(signal.SIGINT, signal.default_int_handler)


def is_loopback(host: str) -> bool:
    """Tell whether an address or a name is this machine's own."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host in {"", "localhost", "localhost."} or host.endswith(
            (".invalid", ".localhost")
        )
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_loopback or mapped.is_unspecified


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse connections that would leave this machine: no test reaches beyond it."""
    if event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
        if isinstance(address, tuple) and not is_loopback(str(address[0])):
            raise RuntimeError(f"{event} {address}: tests connect to loopback only")


sys.addaudithook(_refuse)

# The same examples in every run, on machines of any speed; a fuzzer is the place to look further.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    max_examples=25 * SCALE,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate",
        action="store_true",
        help="rewrite the expectations (testdata/**/*.jsonl, outputs and tables in docs/) "
        "from what the code does now; review the difference before you commit it",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make what the workers share: bytecode, and processes that start programs."""
    if hasattr(config, "workerinput"):
        return
    compileall.compile_dir(PACKAGE, quiet=2)
    if sys.platform == "linux":
        _hold_launchers(config)


def _hold_launchers(config: pytest.Config) -> None:
    """Make the folder of what `launcher` starts, which ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="launchers-")
    alive = Path(folder.name) / "alive"
    os.mkfifo(alive)
    os.open(alive, os.O_RDWR)
    os.environ["TEST_LAUNCHERS"] = folder.name
    config.add_cleanup(folder.cleanup)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let slow tests take their time: `faulthandler_timeout` is for the others."""
    if item.get_closest_marker("slow"):
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(optionalhook=True)  # `-p no:xdist` has none to call it
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run a few named files without workers: those take longer to start than the tests.

    Otherwise there is one worker more than cores, because a quarter of the time tests wait.
    """
    is_few = len(config.args) < FEW and all(
        ".py" in argument for argument in config.args
    )
    return 0 if is_few else (os.cpu_count() or 1) + 1


@cache
def find_folder(module: Path) -> str:
    """Return the kind of a module's tests: the folder below tests/ that it lies in."""
    return module.relative_to(TESTS).parts[0]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave unread a module that has no test of the suite, unless it is named."""
    suite = config.option.markexpr
    is_named = any(
        "slow" in word or collection_path.name in word for word in config.args
    )
    if suite not in ("slow", "not slow") or is_named or not collection_path.is_file():
        return None
    text = collection_path.read_text("utf-8")
    is_slow = collection_path.parent.name == "slow" or bool(SLOW.search(text))
    if suite == "not slow":
        return is_slow or None
    has_cases = collection_path.parent.name in CASES and "parametrize" in text
    return None if is_slow or has_cases or HAS_SLOW.search(text) else True


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name gzip data and keys by their argument: they differ from worker to worker."""
    if isinstance(val, bytes) and val.startswith((b"\x1f\x8b", b"-----BEGIN")):
        return argname
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Hide the tests from the garbage collector, which else goes through all of them each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)  # a fortieth of the time went into collections
        atexit.register(gc.unfreeze)  # the end of Python collects them


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all that lies in tests/slow by its folder; begin with what takes longest."""
    for item in items:
        if find_folder(item.path) == "slow":
            item.add_marker("slow")
    _leave_for_slow(items)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def _leave_for_slow(items: list[pytest.Item]) -> None:
    """Mark as slow all but the first cases of each test in a folder of `CASES`."""
    seen: Counter[str] = Counter()
    for item in items:
        cases = CASES.get(find_folder(item.path))
        if marker := item.get_closest_marker("cases"):
            cases = marker.args[0]
        if cases is None or item.get_closest_marker("slow"):
            continue
        function = item.nodeid.partition("[")[0]
        seen[function] += 1
        if seen[function] > cases:
            item.add_marker("slow")


@pytest.fixture(
    params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"]
)
def thorough(request: pytest.FixtureRequest) -> bool:
    """Return whether all cases are tried, as in the slow suite, or some of them."""
    return bool(request.param)


@pytest.fixture
def regenerate(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--regenerate"))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Return the path of a state file that is not there yet."""
    return tmp_path / "site.db"
