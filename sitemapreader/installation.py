"""How this copy of the package was installed, so that advice on extras fits it."""

from __future__ import annotations

import json
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit
from urllib.request import url2pathname

_NAME = "sitemapreader"


def advise_extra(extra: str) -> str:
    """Return the words that name an extra, with the command that installs it here.

    The package may be in no index: then the command names where this copy came from, which pip
    keeps (https://packaging.python.org/en/latest/specifications/direct-url/).
    """
    words = f"the extra `{extra}` brings it"
    try:
        origin = Distribution.from_name(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:  # a folder of sources that is run as it is
        return f"{words}, or install that alone"
    if origin is None:
        return f"{words}: pip install {quote(f'{_NAME}[{extra}]')}"
    command = _write_command(extra, **json.loads(origin))
    return f"{words}: {command}" if command else f"{words}, or install that alone"


def _write_command(
    extra: str,
    *,
    url: str,
    dir_info: dict[str, bool] | None = None,
    vcs_info: dict[str, str] | None = None,
    **_other: object,
) -> str:
    """Write the command for a copy that came from a URL, or "" if that is gone."""
    parts = urlsplit(url)
    path = url2pathname(parts.path)
    if parts.scheme == "file" and not Path(path).exists():
        return ""
    if dir_info and dir_info.get("editable"):
        return f"pip install -e {quote(f'{path}[{extra}]')}"
    if vcs_info:
        url = f"{vcs_info['vcs']}+{url}@{vcs_info['commit_id']}"
    return f"pip install {quote(f'{_NAME}[{extra}] @ {url}')}"
