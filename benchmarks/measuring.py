"""Measurement of time and memory, and of processes."""

from __future__ import annotations

import json
import platform
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self
from xml.parsers import expat

from contestants import make_command, make_environment, version_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contestants import Contestant

_STATUS = Path("/proc/self/status")


def peak_mb() -> float:
    """Return the most memory that this process, or one that it started, has had."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    try:  # what getrusage says of a process may be its parent's, from before it was started
        own = int(re.findall(r"VmHWM:\s+(\d+)", _STATUS.read_text())[0])
    except OSError:
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(own, children) / (1024 if sys.platform == "linux" else 1024 * 1024)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its children, in all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime + children_seconds()


def children_seconds() -> float:
    """Return the CPU time of this process's children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Answer(NamedTuple):
    """What a process answered to one question: a dict, or why there is none."""

    values: dict[str, Any]
    fault: str = ""


class Reader:
    """The process of a contestant, which reads documents on request."""

    def __init__(self, name: str, contestant: Contestant) -> None:
        self.name = name
        self.contestant = contestant
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.communicate()

    def read(self, kind: str, path: Path) -> Answer:
        """Have a document read once. The process is started when it is first asked."""
        process = self._process = self._process or subprocess.Popen(
            make_command("contestant.py", "read", self.name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**make_environment(), **self.contestant.environment},
            text=True,
        )
        print(kind, path, file=_pipe(process.stdin), flush=True)
        line = _pipe(process.stdout).readline()
        values: dict[str, Any] = (
            json.loads(line) if line else {"error": "the process ended"}
        )
        return Answer(values, values.get("error", ""))


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise TypeError("the process was started without this pipe")
    return pipe


def run_once(command: list[str], *, seconds: float, stdin: str = "") -> tuple[str, str]:
    """Run a process to its end; return what it printed, and what went wrong."""
    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=make_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"gave up after {seconds:g} s"
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        return done.stdout, " ".join([f"exit code {done.returncode}", *last])
    return done.stdout, ""


def describe_machine(packages: Iterable[str]) -> dict[str, str]:
    """Name what the figures depend on."""
    versions = {name: version_of(name) or "not installed" for name in packages if name}
    return {
        "python": platform.python_version(),
        "expat": expat.EXPAT_VERSION.removeprefix("expat_"),
        "machine": f"{platform.system()} {platform.machine()}",
    } | versions
