"""Audits of these tests take a sixth less: their queries are few and small."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

_CONNECT = duckdb.connect


@pytest.fixture(autouse=True)
def unoptimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run queries as they are written; golden audits, the shell and the docs optimise them."""

    def connect(*words: Any, **options: Any) -> duckdb.DuckDBPyConnection:
        connection = _CONNECT(*words, **options)
        connection.execute("PRAGMA disable_optimizer")
        return connection

    monkeypatch.setattr(duckdb, "connect", connect)
