"""A new extension with types takes one class and one row, as the page for contributors says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support import package

if TYPE_CHECKING:
    from pathlib import Path

TRY = '''
import json
from sitemapreader import read
from sitemapreader._types.models import UrlEntry
from sitemapreader._columns import COLUMNS
from sitemapreader._types.rows import get_column
from sitemapreader.changes.rows import hash_record

def entries(price, number=1):
    record = f"""<url><loc>https://a.b/</loc><demo:stall>
    <demo:price currency="EUR">{price}</demo:price>
    <demo:until>2026-01-02</demo:until></demo:stall></url>"""
    root = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:demo="urn:Demo/2">'
    return [*read((root + record * number + "</urlset>").encode())]

(entry,) = entries("12.5")
dear = entries("dear")
(stall,) = entry.stalls
print(stall.price, stall.currency, stall.until.year, entry.extras, UrlEntry("x").stalls)
print(dear[0].value, dear[1].stalls[0].price)
print(hash_record(entry) != hash_record(entries("13")[0]))
print(hash_record(entry) == hash_record(entries("12.5", 40)[0]))
print([column.meaning for column in COLUMNS if column.name == "stalls"])
'''


def test_one_class_and_one_row(tmp_path: Path) -> None:
    """With the two blocks of the page, values, Issues, columns and comparison are there."""
    page = (package.ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    of_class, of_row = re.findall(
        r"```python\n(.*?)```", page.partition("extension with types\n")[2], re.DOTALL
    )[:2]
    shutil.copytree(package.ROOT / "sitemapreader", tmp_path / "sitemapreader")
    models = tmp_path / "sitemapreader" / "_types" / "models.py"
    text = models.read_text(encoding="utf-8")
    text = text.replace("class Alternate(", f"{of_class}\n\nclass Alternate(")
    last = "    change: Change | None = None\n"
    models.write_text(text.replace(last, last + of_row), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", TRY],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.split("\n") == [
        "12.5 EUR 2026 () ()",
        "dear None",
        "True",
        "True",
        "['where it is for sale']",
        "",
    ]
