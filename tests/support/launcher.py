"""Starts the program by forking a process that has imported it already.

A process that forks is started once; each run of the program is a process of its own, with its own
arguments, folder and standard streams, and ends as any Python ends. Only the imports are shared:
they take ten times as long as most runs. Attempts follow each other after 10 ms, not a second.
Tests of the start itself use `commands.COMMAND`.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

MAX_MESSAGE_BYTES = 1 << 20
IS_POSSIBLE = sys.platform == "linux"
AT_START = ("LANG", "LC_", "PYTHON", "TZ")
"""Beginnings of the names of variables that are looked at when a process starts."""


class Launcher:
    """A process that forks one process for each run of the program."""

    def __init__(self) -> None:
        self._variables = _variables_at_start()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = [sys.executable, "-W", "error", __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(words, pass_fds=[theirs.fileno()])
        atexit.register(self.close)

    @property
    def is_current(self) -> bool:
        """Whether the program would start with the same variables now."""
        return self._variables == _variables_at_start()

    def run(self, arguments: list[str], cwd: str, streams: list[int], timeout: float) -> int:
        """Run the program to its end; return its exit code, or minus a signal's number.

        Args:
            arguments: the words behind `python -m sitemapreader`.
            cwd: the folder that it runs in.
            streams: descriptors of its standard input, output and error.
            timeout: seconds until it is killed.
        """
        message = json.dumps([arguments, cwd, dict(os.environ)]).encode()
        socket.send_fds(self._socket, [message], streams)
        process = self._receive()
        self._socket.settimeout(timeout)
        try:
            return self._receive()
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            self._socket.settimeout(None)
            return self._receive()
        finally:
            self._socket.settimeout(None)

    def close(self) -> None:
        """End the process that forks."""
        self._socket.close()
        self._process.wait()

    def _receive(self) -> int:
        return int(self._socket.recv(MAX_MESSAGE_BYTES))


@cache
def get_launcher() -> Launcher:
    """Return the launcher of this process of pytest."""
    return Launcher()


def launch(
    arguments: list[str], *, cwd: str, given: str | None, timeout: float
) -> tuple[int, str, str]:
    """Run the program to its end, with pipes.

    Args:
        arguments: the words behind `python -m sitemapreader`.
        cwd: the folder that it runs in.
        given: its standard input, or None for an empty one that is no pipe.
        timeout: seconds until it is killed.

    Returns:
        Its exit code, and what it wrote to standard output and error.
    """
    with ThreadPoolExecutor(3) as threads:
        if given is None:
            stdin = os.open(os.devnull, os.O_RDONLY)
        else:
            stdin, writing = os.pipe()
            threads.submit(_write, writing, given)
        streams, texts = [stdin], []
        for _ in range(2):
            reading, end = os.pipe()
            streams.append(end)
            texts.append(threads.submit(_read, reading))
        try:
            code = get_launcher().run(arguments, cwd, streams, timeout)
        finally:
            for stream in streams:
                os.close(stream)
        return code, texts[0].result(), texts[1].result()


def _variables_at_start() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(AT_START)}


def _write(descriptor: int, text: str) -> None:
    with suppress(BrokenPipeError), open(descriptor, "w", encoding="utf-8") as pipe:
        pipe.write(text)


def _read(descriptor: int) -> str:
    with open(descriptor, encoding="utf-8") as pipe:
        return pipe.read()


# -- in the process that forks


def _serve(orders: socket.socket) -> None:
    """Fork for each order; return in the fork, with the order carried out."""
    while True:
        message, descriptors, *_ = socket.recv_fds(orders, MAX_MESSAGE_BYTES, 3)
        if not message:
            os._exit(0)
        process = os.fork()
        if not process:
            orders.close()
            arguments, cwd, variables = json.loads(message)
            _become(arguments, cwd, variables, descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        orders.send(str(process).encode())
        orders.send(str(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])).encode())


def _become(
    arguments: list[str], cwd: str, variables: dict[str, str], descriptors: list[int]
) -> None:
    """Take over arguments, folder, variables and standard streams."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv[1:] = arguments
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # as Python opens them when it starts
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        stream = open(  # noqa: SIM115 (open until the process ends)
            number,
            "w" if number else "r",
            buffering=1 if number == 2 else -1,
            encoding=old.encoding,
            errors=old.errors,
            closefd=False,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[2])  # as `python -m` in a clone has it
    import attrs

    import sitemapreader.cli.runner  # noqa: F401 (all that a run imports)
    from sitemapreader.cli import main
    from sitemapreader.fetch import retries

    # Waits between attempts of our own choice are short; those that a server asks for are not.
    make_wait = retries._make_wait
    retries._make_wait = lambda options: make_wait(attrs.evolve(options, retry_wait_seconds=0.01))

    _serve(socket.socket(fileno=int(sys.argv.pop())))
    sys.exit(main())
