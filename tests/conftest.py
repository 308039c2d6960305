"""What all tests share: how hypothesis runs, and the switch that rewrites expectations."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

# What a shell runs in the background ignores Ctrl-C; the programs that are tested would as well.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, on machines of any speed; a fuzzer is the place to look further.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    max_examples=50,
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


@pytest.fixture
def regenerate(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--regenerate"))
