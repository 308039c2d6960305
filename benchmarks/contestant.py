"""The process of one contestant, which `contestants` starts and controls by pipes.

python benchmarks/contestant.py read NAME       one `KIND PATH` a line in, one JSON object out;
                                                of kind `list`, the path is a JSON file of such
python benchmarks/contestant.py walk NAME URL   one JSON object out
python benchmarks/contestant.py collect NAME    URLs in, one a line; a JSON list out for each
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from adapters import Document, limited
from contestants import BEFORE, COLLECTORS, READERS, WALKERS
from measuring import cpu_seconds, peak_mb

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS_PER_READING = 300


def load(function: str) -> Callable[..., Any]:
    """Import a function, and its library with it."""
    module, _, name = function.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(f"adapters.{module}"), name)
    return loaded


def take_stdout() -> IO[str]:
    """Keep standard output for results; libraries print to standard error."""
    ours = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return ours


def answer_readings(name: str, answers: IO[str]) -> None:
    """Read each requested document; report a failure, and continue."""
    function = (READERS | BEFORE)[name].function
    for line in sys.stdin:
        kind, _, path = line.rstrip("\n").partition(" ")
        if kind == "list":
            print(json.dumps(measure_list(function, Path(path))), file=answers)
            continue
        document = Document(Path(path), Path(path).read_bytes(), kind)
        print(json.dumps(measure_reading(function, document)), file=answers)


def measure_list(function: str, path: Path) -> dict[str, list[dict[str, Any]]]:
    """Read each document of a list once, in order, in one process."""
    documents = [
        Document(Path(path), Path(path).read_bytes(), kind)
        for kind, path in json.loads(path.read_text(encoding="utf-8"))
    ]
    gc.collect()
    return {"readings": [measure_once(function, document) for document in documents]}


def measure_reading(function: str, document: Document) -> dict[str, Any]:
    """Read once, with the garbage collector on and nothing to collect."""
    gc.collect()
    return measure_once(function, document)


def measure_once(function: str, document: Document) -> dict[str, Any]:
    """Read once; return the time, or the exception."""
    try:
        read = load(function)
        with limited(SECONDS_PER_READING):
            start = time.process_time()
            count = read(document)
            seconds = time.process_time() - start
    except Exception as error:  # a result: other tools raise anything
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return {"cpu": seconds, "count": count}


def answer_walk(name: str, url: str, answers: IO[str]) -> None:
    """Walk once."""
    function = WALKERS[name].function
    walk = load(function)
    if function.startswith("memory:"):
        load("memory:prepare")(url)
    count, first = 0, 0.0
    start, cpu = time.perf_counter(), cpu_seconds()

    def found(number: int) -> None:
        nonlocal count, first
        if number and not count:
            first = time.perf_counter() - start
        count += number

    walk(url, found)
    seconds, used = time.perf_counter() - start, cpu_seconds()
    answer = {
        "urls": count,
        "first": first,
        "seconds": seconds,
        "cpu": used - cpu,
        "peak": peak_mb(),
    }
    print(json.dumps(answer), file=answers)


def answer_collection(name: str, answers: IO[str]) -> None:
    """List the URLs of each document."""
    collect = load(COLLECTORS[name].function)
    for collected in collect(sys.stdin.read().split()):
        print(json.dumps(collected), file=answers)


def main() -> None:
    """Do the work that the arguments name."""
    answers = take_stdout()
    logging.disable()
    command, name, *rest = sys.argv[1:]
    if command == "read":
        answer_readings(name, answers)
    elif command == "walk":
        answer_walk(name, rest[0], answers)
    else:
        answer_collection(name, answers)


if __name__ == "__main__":
    main()
