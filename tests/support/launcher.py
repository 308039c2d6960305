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
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, Self, TypeAlias

import attrs

import sitemapreader
from sitemapreader.cli import main
from sitemapreader.fetch import http

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MAX_MESSAGE_BYTES = 1 << 17
IS_POSSIBLE = sys.platform == "linux"
AT_START = ("LANG", "LC_", "PYTHON", "TZ")
"""Beginnings of the names of variables that are looked at when a process starts."""
FOLDER = "TEST_LAUNCHERS"
"""Variable with the folder of all launchers: `conftest` makes it, and removes it in the end."""
PREFIX = "sitemapreader."
_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LIBRARIES = ("httpx", "pandas")
"""Large ones, which only documentation uses: to import them makes each fork slower."""
STAND_IN = """\
#!{python} -ISs
import _socket, marshal, posix, sys
run = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
run.connect({path!r})
variables = {{k.decode(errors="surrogateescape"): v.decode(errors="surrogateescape")
             for k, v in posix.environ.items()}}
order = marshal.dumps(({code!r}, sys.argv[1:], posix.getcwd(), variables))
streams = b"".join(n.to_bytes(4, sys.byteorder) for n in (0, 1, 2))
run.sendmsg([order], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
run.recv(64)
for stream in (0, 1, 2):
    posix.close(stream)
code = int(run.recv(64))
posix._exit(code) if code >= 0 else posix.kill(posix.getpid(), -code)
"""
"""A program that has a launcher run `sitemapreader` in its place: for scripts of a shell."""

Order: TypeAlias = "tuple[str, list[str], str, dict[str, str]]"
"""Code, or "" for the program; arguments, folder and variables."""


class Launcher:
    """A process that forks one process for each run; the first who needs it starts it.

    Args:
        options: options of Python.
    """

    def __init__(self, *options: str) -> None:
        self._variables = _variables_at_start(os.environ)
        folder = Path(os.environ[FOLDER])
        self.path = str(folder / "-".join(["socket", *options]))
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not Path(self.path).exists():
                _start(self.path, options, folder / "alive")

    def can_start(self, variables: Mapping[str, str]) -> bool:
        """Tell whether Python would start in the same way with these variables."""
        return self._variables == _variables_at_start(variables)

    def start(self, order: Order, streams: Sequence[int]) -> Run:
        """Start a run, given descriptors of its standard input, output and error."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(self.path)
        socket.send_fds(connection, [marshal.dumps(order)], streams)
        return Run(connection, int(connection.recv(64)))

    def write_stand_in(self, folder: Path, code: str = "") -> None:
        """Write a program `sitemapreader` that any shell can run; it may run code in its place."""
        program = folder / "sitemapreader"
        text = STAND_IN.format(python=sys.executable, path=self.path, code=code)
        program.write_text(text, "utf-8")
        program.chmod(0o755)


class Run:
    """A process that was started, with the attributes of `subprocess.Popen` that tests use.

    Args:
        connection: where the launcher tells its end.
        pid: its number.
    """

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: IO[Any] | None = None
        self.stdout: IO[Any] | None = None
        self.stderr: IO[Any] | None = None
        self._connection = connection

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends; return its exit code, or minus a signal's number."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = int(self._connection.recv(64))
            except TimeoutError:
                raise subprocess.TimeoutExpired("sitemapreader", timeout or 0) from None
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:  # a test that has failed waits for nothing
            self.send_signal(signal.SIGKILL)
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()
        self.wait()


def _start(path: str, options: Sequence[str], alive: Path) -> None:
    """Start a launcher, which ends with the process that holds a pipe of this name open."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, alive.open() as ends:
        listener.bind(path)
        listener.listen(128)
        words = [sys.executable, *options, "-W", "error", __file__, "3"]
        os.posix_spawn(
            sys.executable,
            words,
            {**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a fork has one thread
            file_actions=[
                (os.POSIX_SPAWN_DUP2, ends.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, listener.fileno(), 3),
            ],
            setsid=True,  # no run finds the terminal that the tests are started at
        )


@cache
def get_launcher(*options: str) -> Launcher:
    """Return the launcher of this process of pytest, for some options of Python."""
    return Launcher(*options)


def open_run(
    launcher: Launcher,
    order: Order,
    *,
    stdin: int,
    stdout: int,
    stderr: int = subprocess.PIPE,
    encoding: str | None,
) -> Run:
    """Start something.

    Args:
        launcher: what starts it.
        order: what is run.
        stdin: `subprocess.PIPE`, `subprocess.DEVNULL` or an open descriptor.
        stdout: the same.
        stderr: the same.
        encoding: of the files at our ends of the pipes; without one they are binary.
    """
    theirs: list[int] = []
    ours: list[IO[Any] | None] = []
    kind = "" if encoding else "b"
    for number, wanted in enumerate((stdin, stdout, stderr)):
        if wanted >= 0:
            theirs.append(os.dup(wanted))
            ours.append(None)
        elif wanted == subprocess.DEVNULL:
            theirs.append(os.open(os.devnull, os.O_RDWR))
            ours.append(None)
        else:
            reading, writing = os.pipe()
            theirs.append(writing if number else reading)
            end = (reading, f"r{kind}") if number else (writing, f"w{kind}")
            ours.append(os.fdopen(*end, encoding=encoding))
    try:
        run = launcher.start(order, theirs)
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    run.stdin, run.stdout, run.stderr = ours
    return run


class Ended:
    """What was run in this process."""

    def __init__(self, code: int) -> None:
        self._code = code

    def wait(self, _timeout: float | None = None) -> int:
        """Return the exit code."""
        return self._code

    def send_signal(self, _number: int) -> None:
        """Do nothing."""


def run_here(order: Order, streams: Sequence[int]) -> Ended:
    """Run the program in this process, with these streams, and leave it as it was."""
    folder, variables, words = Path.cwd(), dict(os.environ), sys.argv
    handlers = {number: signal.getsignal(number) for number in _HANDLED}
    objects = {name: getattr(sys, name) for name in _STREAMS}
    kept = [os.dup(number) for number in range(3)]
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        _become(order)
        with shorten_waits():
            code = _run(lambda: sys.exit(main()))
        return Ended(_flush(code))
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


@contextmanager
def shorten_waits() -> Iterator[None]:
    """Shorten waits between attempts that are our choice; those that a server asks for stay."""
    choose_wait = http._choose_wait
    http._choose_wait = lambda attempts, options: choose_wait(
        attempts, attrs.evolve(options, retry_wait_seconds=0.01)
    )
    try:
        yield
    finally:
        http._choose_wait = choose_wait


def launch(
    begin: Callable[[Order, Sequence[int]], Run | Ended],
    order: Order,
    *,
    given: str | bytes | None = None,
    errors: str = "strict",
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run something to its end, with pipes.

    Args:
        begin: starts it.
        order: what is run.
        given: its standard input, or None for an empty one that is no pipe.
        errors: what becomes of bytes that are no UTF-8.
        timeout: seconds until it is killed.
    """
    with ThreadPoolExecutor(3) as threads:
        if given is None:
            stdin = os.open(os.devnull, os.O_RDONLY)
        else:
            stdin, writing = os.pipe()
            threads.submit(_write, writing, given.encode() if isinstance(given, str) else given)
        streams, texts = [stdin], []
        for _ in range(2):
            reading, end = os.pipe()
            streams.append(end)
            texts.append(threads.submit(_read, reading, errors))
        try:
            run = begin(order, streams)
        finally:
            for stream in streams:
                os.close(stream)
        try:
            code = run.wait(timeout)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            code = run.wait()
        return subprocess.CompletedProcess(order[1], code, *(text.result() for text in texts))


def _variables_at_start(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(AT_START)}


def _write(descriptor: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb") as pipe:
        pipe.write(data)


def _read(descriptor: int, errors: str) -> str:
    with open(descriptor, encoding="utf-8", errors=errors) as pipe:
        return pipe.read()


# -- in the process that forks

_LISTENER = socket.socket(fileno=int(sys.argv.pop())) if __name__ == "__main__" else None
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
        _WAITED_FOR.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, connection))
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


def _import_all() -> None:
    """Import what runs use."""
    names = {module.name for module in pkgutil.walk_packages(sitemapreader.__path__, PREFIX)}
    if sys.flags.dev_mode:  # it runs blocks of documentation
        names.update(LIBRARIES)
    for name in sorted({*names, "brotli", "protego"}):
        with suppress(ImportError):
            if not name.startswith(f"{PREFIX}recipes."):
                import_module(name)


def _compile_patterns() -> None:
    """Compile the patterns of common documents, which take longer than most runs."""
    folder = Path(__file__).parents[2] / "testdata" / "site"
    fetcher = sitemapreader.fetch.FolderFetcher(str(folder))
    with sitemapreader.walk_sync("https://www.example.org/", fetcher=fetcher) as entries:
        list(entries)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[2])  # as `python -m` in a clone has it
    sys.modules["aiodns"] = None  # type: ignore[assignment]  # as in `conftest`
    waits = shorten_waits()
    waits.__enter__()
    _import_all()
    _compile_patterns()
    gc.collect()
    gc.freeze()  # a collection in a fork would copy all objects that are here
    assert _LISTENER is not None
    order = _serve(_LISTENER)
    if order is not None:
        _become(order)
        code = order[0]
        _end(_run(lambda: _execute(code) if code else sys.exit(main())))
    os._exit(0)
