"""Manual pages of the program and its commands, written when a wheel is built."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from argparse_manpage.manpage import Manpage
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "share/man/man1"


def write_pages(root: Path, folder: Path, version: str) -> list[Path]:
    """Write a page for the program and for each of its commands; return their paths."""
    sys.path.insert(0, str(root))
    from sitemapreader._cli.commands import COMMANDS, DEFAULT, PROGRAM  # noqa: PLC0415 (not before)

    sys.path.remove(str(root))
    written = []
    for name in ("", *COMMANDS):
        parser = COMMANDS.get(name, DEFAULT).make_parser(is_program=not name)
        facts = {"project_name": PROGRAM, "version": version}
        page = Manpage(parser, {**facts, "manual_title": "User Commands"})
        first = (parser.description or "").partition("\n")[0].rstrip(".")
        page.description = first[:1].lower() + first[1:]
        path = folder / f"{'-'.join(filter(None, (PROGRAM, name)))}.1"
        path.write_text(str(page), "utf-8")
        written.append(path)
    return written


class ManPages(BuildHookInterface[Any]):
    """Hook of hatchling that adds the pages to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages, unless the wheel only points to the checkout."""
        if version == "editable":
            return
        self._folder = TemporaryDirectory(prefix="man-")
        pages = write_pages(
            Path(self.root), Path(self._folder.name), self.metadata.version
        )
        build_data["shared_data"] |= {
            str(page): f"{PLACE}/{page.name}" for page in pages
        }

    def finalize(self, *_: object) -> None:
        """Remove what `initialize` has written."""
        if folder := getattr(self, "_folder", None):
            folder.cleanup()
