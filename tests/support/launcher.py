"""Starts programs by forking a process that has imported already what they import.

A process that forks is started once for all workers of pytest; each run is a process of its own,
with its own arguments, folder, variables and standard streams. Only the imports are shared: they
take ten times as long as most runs. Attempts follow each other after 10 ms, not a second. What is
run is `python -m sitemapreader`, or code as of `python -c`. Tests of the start itself use
`commands.COMMAND`.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import marshal
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import attrs

import sitemapreader
from sitemapreader._cli import main, process
from sitemapreader.fetch import retries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

MAX_MESSAGE_BYTES = 1 << 17
IS_POSSIBLE = sys.platform == "linux"
FOLDER = "TEST_LAUNCHERS"
"""Variable with the folder of the launcher: `conftest` makes it, and removes it in the end."""
_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STAND_IN = """\
import _socket, marshal, posix, sys
_, path, code, *words = sys.argv
run = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
run.connect(path)
variables = {k.decode(errors="surrogateescape"): v.decode(errors="surrogateescape")
             for k, v in posix.environ.items()}
order = marshal.dumps((code, words, posix.getcwd(), variables))
streams = b"".join(n.to_bytes(4, sys.byteorder) for n in (0, 1, 2))
run.sendmsg([order], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
name = posix.open("/proc/self/comm", posix.O_WRONLY)
posix.write(name, run.recv(64))
for stream in (0, 1, 2):
    posix.close(stream)
code = int(run.recv(64))
posix._exit(code) if code >= 0 else posix.kill(posix.getpid(), -code)
"""
"""A program that has the launcher run code, or `sitemapreader`, in its place.

Its arguments: the launcher's socket, code and words. Its name becomes the number of that process.
"""

Order: TypeAlias = "tuple[str, list[str], str, dict[str, str]]"
"""Code, or "" for the program; arguments, folder and variables."""


class Run(subprocess.Popen[Any]):
    """A process that was started; if it is a stand-in, signals are sent to what it stands for."""

    @property
    def program(self) -> int:
        """The number of the process that does the work."""
        name = Path(f"/proc/{self.pid}/comm")
        while IS_POSSIBLE and self.poll() is None:
            if (number := name.read_text("ascii").strip()).isdigit():
                return int(number)
            time.sleep(0.001)
        return self.pid

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.program, number)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:  # a test that has failed waits for nothing
            self.send_signal(signal.SIGKILL)
        super().__exit__(kind, error, trace)


def find_launcher(code: str) -> list[str]:
    """Return what runs code, or the program, by the launcher; the first who needs it starts it."""
    folder = Path(os.environ[FOLDER])
    path = folder / "socket"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _start(str(path), folder / "alive")
    return [sys.executable, "-ISs", "-c", STAND_IN, str(path), code]


def _start(path: str, alive: Path) -> None:
    """Start the launcher, which ends with the process that holds a pipe of this name open."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
        alive.open() as ends,
    ):
        listener.bind(path)
        listener.listen(128)
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-W", "error", __file__, "3"],
            {**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a fork has one thread
            file_actions=[
                (os.POSIX_SPAWN_DUP2, ends.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, listener.fileno(), 3),
            ],
            setsid=True,  # no run finds the terminal that the tests are started at
        )


def run_here(
    order: Order, given: str | None = None, errors: str = "strict"
) -> subprocess.CompletedProcess[str]:
    """Run the program in this process, and leave it as it was.

    Args:
        order: what is run.
        given: its standard input, or None for an empty one that is no pipe.
        errors: what becomes of bytes that are no UTF-8.
    """
    folder, variables, words = Path.cwd(), dict(os.environ), sys.argv
    handlers = {number: signal.getsignal(number) for number in _HANDLED}
    objects = {name: getattr(sys, name) for name in _STREAMS}
    kept = [os.dup(number) for number in range(3)]
    with ThreadPoolExecutor(3) as threads:
        streams, texts = [os.open(os.devnull, os.O_RDONLY)], []
        if given is not None:
            streams[0], writing = os.pipe()
            threads.submit(_write, writing, given.encode())
        for _ in range(2):
            reading, end = os.pipe()
            streams.append(end)
            texts.append(threads.submit(_read, reading, errors))
        try:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            _become(order)
            with shorten_waits(0.01):  # the reader of our pipes stays to the end
                code = _flush(_run(lambda: sys.exit(main())))
        finally:
            for number, descriptor in enumerate(kept):
                os.dup2(descriptor, number)
                os.close(descriptor)
            for name, stream in objects.items():
                setattr(sys, name, stream)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(variables)
            sys.argv = words
        return subprocess.CompletedProcess(
            order[1], code, *(text.result() for text in texts)
        )


@contextmanager
def shorten_waits(grace_seconds: float = process.GRACE_SECONDS) -> Iterator[None]:
    """Shorten waits between attempts that are our choice; those that a server asks for stay.

    Args:
        grace_seconds: how long the program waits at its end for the reader of a pipe.
    """
    choose_wait, grace = retries._choose_wait, process.GRACE_SECONDS
    process.GRACE_SECONDS = grace_seconds
    retries._choose_wait = lambda attempts, options: choose_wait(
        attempts, attrs.evolve(options, retry_wait_seconds=0.01)
    )
    try:
        yield
    finally:
        retries._choose_wait, process.GRACE_SECONDS = choose_wait, grace


def _write(descriptor: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb") as pipe:
        pipe.write(data)


def _read(descriptor: int, errors: str) -> str:
    with open(descriptor, encoding="utf-8", errors=errors) as pipe:
        return pipe.read()


# -- in the process that forks

_WAITED_FOR = selectors.DefaultSelector()


def _serve(listener: socket.socket) -> Order | None:
    """Fork for each order; return it in the fork, and None where this process itself ends."""
    for descriptor in (listener, 0):
        _WAITED_FOR.register(descriptor, selectors.EVENT_READ)
    while True:
        for key, _ in _WAITED_FOR.select():
            if key.fileobj == 0:
                return None
            if key.fileobj is listener:
                order = _fork(listener.accept()[0])
                if order is not None:
                    return order
            else:
                _WAITED_FOR.unregister(key.fd)
                pid, connection = key.data
                os.close(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with connection, suppress(OSError):
                    connection.send(str(code).encode())


def _fork(connection: socket.socket) -> Order | None:
    message, streams, *_ = socket.recv_fds(connection, MAX_MESSAGE_BYTES, 3)
    pid = os.fork()
    if pid:
        for stream in streams:
            os.close(stream)
        _WAITED_FOR.register(
            os.pidfd_open(pid), selectors.EVENT_READ, (pid, connection)
        )
        connection.send(str(pid).encode())
        return None
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    connection.detach()
    os.closerange(3, 1024)
    order: Order = marshal.loads(message)  # noqa: S302 (from the test that started this)
    return order


def _become(order: Order) -> None:
    """Take over arguments, folder, variables and standard streams."""
    code, arguments, cwd, variables = order
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = ["-c" if code else sys.argv[0], *arguments]
    # as Python opens them when it starts
    for number, name in enumerate(_STREAMS[:3]):
        old = getattr(sys, f"__{name}__")
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


def _run(work: Callable[[], object]) -> int:
    """Run something as the main program of a process; return the exit code."""
    try:
        work()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())
    else:
        return 0
    return 1


def _execute(code: str) -> None:
    exec(code, {"__name__": "__main__"})  # noqa: S102 (as `python -c` does)


def _end(code: int) -> NoReturn:
    """End as Python does, but for taking its modules apart, which copies all of their memory."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # what is left open warns of it now
    os._exit(_flush(code))


def _flush(code: int) -> int:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return 120
    return code


def _warm_up() -> None:
    """Import what runs use, and compile the patterns of common documents."""
    found = pkgutil.walk_packages(sitemapreader.__path__, "sitemapreader.")
    for name in sorted({*(module.name for module in found), "brotli", "protego"}):
        with suppress(ImportError):
            if ".recipes." not in name and ".mcp" not in name:  # for a few runs
                import_module(name)
    folder = Path(__file__).parents[2] / "testdata" / "site"
    fetcher = sitemapreader.fetch.FolderFetcher(str(folder))
    with sitemapreader.walk_sync(
        "https://www.example.org/", fetcher=fetcher
    ) as entries:
        list(entries)


def _main(listener: socket.socket) -> None:
    sys.path[0] = str(Path(__file__).parents[2])  # as `python -m` in a clone has it
    sys.modules["aiodns"] = None  # type: ignore[assignment]  # as in `conftest`
    with shorten_waits():
        _warm_up()
        gc.collect()
        gc.freeze()  # a collection in a fork would copy all objects that are here
        order = _serve(listener)
        if order is not None:
            _become(order)
            code = order[0]
            _end(_run(lambda: _execute(code) if code else sys.exit(main())))
    os._exit(0)


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv.pop())))
