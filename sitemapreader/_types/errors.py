"""The exceptions of this package.

```
SitemapReaderError
├── FetchError          a document could not be fetched; its code is one of the issue table
└── StateError          the state file cannot be used: locked, not writable, disk full
```
The content of a document never raises: it becomes an `Issue`. Misuse raises TypeError or
ValueError.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.issues import MAX_NAME, IssueCode, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


LOGIN_STATUSES = frozenset({401, 407})
"""The server or a proxy requires a login (RFC 9110, sections 15.5.2 and 15.5.8)."""

_STATUS_CODES = frozenset({IssueCode.HTTP_STATUS, IssueCode.LOGIN_REQUIRED})
_STATUSES_OF_OTHER_CAUSES = frozenset({407, 429})
"""407 comes from a proxy. 429 says that a server is overloaded, as 5xx does; Google agrees."""


def advise_extra(extra: str) -> str:
    """Return the advice to install an extra of this package, with its command.

    The command names its libraries, because the package need not come from an index.
    """
    libraries = " ".join(map(repr, _list_libraries(extra)))
    return f"the extra `{extra}` brings it: pip install {libraries}"


def _list_libraries(extra: str) -> list[str]:
    """Return the requirements of an extra, or itself if the package is not installed."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415 (20 ms)

    try:
        lines = requires("sitemapreader") or []
    except PackageNotFoundError:
        return [f".[{extra}]"]
    parts = [line.partition(";") for line in lines]
    return [
        library.strip()
        for library, _, marker in parts
        if marker.replace('"', "'").strip() == f"extra == '{extra}'"
    ]


@contextmanager
def name_extra(need: str, extra: str) -> Iterator[None]:
    """Add the advice to install an extra to ModuleNotFoundError; `need` is "a report needs"."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{need} {error.name}; {advise_extra(extra)}"
        raise ModuleNotFoundError(message, name=error.name) from error


class SitemapReaderError(Exception):
    """Base of all exceptions that this package raises for outside reasons."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to copy it, into another process too: not by its arguments."""
        return _copy_error, (type(self), self.args), vars(self)


def _copy_error(
    kind: type[SitemapReaderError], args: tuple[object, ...]
) -> SitemapReaderError:
    return kind.__new__(kind, *args)


@attrs.frozen
class Redirect:
    """One redirect on the way to a response.

    Attributes:
        url: the URL that redirected.
        target: the URL that it named.
        status: 301, 302, 303, 307 or 308.
        sets_cookie: True if its response set a cookie.
    """

    url: str
    target: str
    status: int
    sets_cookie: bool = False


class FetchError(SitemapReaderError):
    """A failed fetch: a document that could not be fetched to its end.

    Attributes:
        code: its row of the issue table.
        url: the URL that was fetched.
        detail: the message of the server or the network, cut and escaped.
        http_status: status of the response, if there was one.
        retry_after_seconds: the wait that the server requested, if it did.
        tries: how many requests were made, redirects not counted.
        redirects: the redirects of the last try, in their order.
    """

    def __init__(
        self,
        code: IssueCode,
        url: str,
        detail: str = "",
        *,
        http_status: int | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        self.code = code
        self.url = url
        self.detail = excerpt(" ".join(detail.split()))
        self.http_status = http_status
        self.retry_after_seconds = retry_after_seconds
        self.tries = 1
        self.redirects: tuple[Redirect, ...] = ()
        super().__init__(self._describe())

    def _describe(self) -> str:
        problem = self.code.meaning
        if self.detail:
            problem += f" ({self.detail})"
        return f"{excerpt(self.url, MAX_NAME)}: {problem}: {self.code.advice}"

    def add_detail(self, text: str) -> None:
        """Add to the detail of the cause."""
        self.detail = "; ".join(filter(None, (self.detail, text)))
        self.args = (self._describe(),)

    @property
    def cause(self) -> str:
        """The code, and the message of the server or the network."""
        if self.detail:
            return f"{self.code}: {self.detail}"
        return str(self.code)

    @property
    def is_absent(self) -> bool:
        """True if the server reports that the document does not exist.

        All 4xx statuses but two do: RFC 9309, section 2.3.1.3.
        """
        status = self.http_status
        return (
            self.code in _STATUS_CODES
            and status is not None
            and status < 500
            and status not in _STATUSES_OF_OTHER_CAUSES
        )


class StateError(SitemapReaderError):
    """A state file that cannot be used.

    Attributes:
        path: the file.
        detail: the problem, and its remedy.
        is_locked: True if only another user of the file prevents its use.
    """

    def __init__(
        self,
        path: Path,
        detail: str,
        *,
        is_locked: bool = False,
    ) -> None:
        self.path = path
        self.detail = detail
        self.is_locked = is_locked
        name = excerpt(str(path), MAX_NAME)
        super().__init__(f"state file {name}: {excerpt(detail, MAX_NAME)}")
