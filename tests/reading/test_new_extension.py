"""A new extension with types takes one class and one row, as the page for contributors says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader._read.vocabulary import list_fields
from sitemapreader._types.models import extension
from tests.support import package

if TYPE_CHECKING:
    from pathlib import Path

TRY = '''
from sitemapreader._types.models import UrlEntry
from sitemapreader._columns import COLUMNS
from sitemapreader.changes.rows import hash_record
from tests.support.reading import check_ways

def entries(price, number=1, colors=("red", "blue")):
    written = "".join(f"<demo:color>{color}</demo:color>" for color in colors)
    record = f"""<url><loc>https://a.b/</loc><demo:stall>
    <demo:price currency="EUR">{price}</demo:price>{written}
    <demo:until>2026-01-02</demo:until></demo:stall></url>"""
    root = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:demo="urn:Demo/2">'
    return check_ways((root + record * number + "</urlset>").encode())

(entry,) = entries("12.5")
dear = entries("dear")
(stall,) = entry.stalls
print(stall.price, stall.currency, stall.until.year, entry.extras, UrlEntry("x").stalls)
print(stall.colors)
print(dear[0].value, dear[1].stalls[0].price)
print(hash_record(entry) != hash_record(entries("13")[0]))
print(hash_record(entry) == hash_record(entries("12.5", 40)[0]))
print(hash_record(entry) == hash_record(entries("12.5", colors=("blue", "red"))[0]))
print([column.meaning for column in COLUMNS if column.name == "stalls"])
'''


LAST = "    priority_text: str | None = attrs.field(default=None, eq=False)\n"
PLAIN = """
from tests.support.reading import check_ways

record = "<url><loc>https://a.b/</loc><changefreq>weekly</changefreq><priority>0.4</priority></url>"
root = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:demo="urn:Demo/2">'
(entry,) = check_ways((root + record + "</urlset>").encode())
print(entry.changefreq_text, entry.priority_text, entry.stalls)
"""


def run_with(
    tmp_path: Path,
    of_class: str,
    of_row: str,
    code: str,
    last: str = LAST,
    error: str = "",
) -> list[str]:
    """Run code with a copy of the package that has one more extension; return what it prints.

    Its row stands after the row `last`.
    """
    shutil.copytree(package.ROOT / "sitemapreader", tmp_path / "sitemapreader")
    models = tmp_path / "sitemapreader" / "_types" / "models.py"
    text = models.read_text(encoding="utf-8")
    text = text.replace("class Alternate(", f"{of_class}\n\nclass Alternate(")
    models.write_text(text.replace(last, last + of_row), encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), str(package.ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": paths},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if not error:
        assert done.stderr == ""
    assert error in done.stderr
    return done.stdout.splitlines()


def read_blocks() -> tuple[str, str]:
    """Return the code of a class and of a row, as the page for contributors has them."""
    page = (package.ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    blocks = re.findall(
        r"```python\n(.*?)```", page.partition("extension with types\n")[2], re.DOTALL
    )
    of_class, of_row = blocks[:2]
    return of_class, of_row


def test_one_class_and_one_row(tmp_path: Path) -> None:
    """With the two blocks of the page, values, Issues, columns and comparison are there."""
    of_class, of_row = read_blocks()
    assert run_with(tmp_path, of_class, of_row, TRY) == [
        "12.5 EUR 2026 () ()",
        "('red', 'blue')",
        "dear None",
        "True",
        "True",
        "True",
        "['where it is for sale']",
    ]


def test_records_without_the_extension_stay_as_they_are(tmp_path: Path) -> None:
    """Entries that are made by position have each value at its place."""
    assert run_with(tmp_path, *read_blocks(), PLAIN) == ["weekly 0.4 ()"]


def test_a_row_that_is_not_the_last_is_refused(tmp_path: Path) -> None:
    """Otherwise the values of all fields after it would move by one, silently."""
    told = "put new rows at the end of UrlEntry"
    last = "    extras: tuple[Extra, ...] = ()\n"
    assert run_with(tmp_path, *read_blocks(), PLAIN, last, told) == []


PRODUCT = '''
@attrs.define(weakref_slot=False)
class Product:
    """A `<shop:product>`."""

    price: float = attrs.field(metadata={"inside": "offer"})
    name: str
    color: str = attrs.field(metadata={"inside": "offer"})
    link: Reference
    currency: str | None = _attribute_of("price", "currency")
    sizes: tuple[str, ...] = attrs.field(default=(), metadata={"element": "size"})
'''
PRODUCT_ROW = """
    products: tuple[Product, ...] = extension("product", "for sale", "shop.example/")
"""
REQUIRED = """
from itertools import combinations
from tests.support.reading import check_ways

offer = {
    "price": ["<s:price>1</s:price>", '<s:price currency="EUR">0</s:price>'],
    "color": ["<s:color>red</s:color>"],
}
fields = {
    "name": ["<s:name>n</s:name>", "<s:name><![CDATA[ n ]]></s:name>"],
    "link": ["<s:link>https://a.b/c</s:link>"],
}
empty = ["<s:{}/>", "<s:{}></s:{}>", "<s:{}> </s:{}>", "<s:{}><![CDATA[ ]]></s:{}>"]
root = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:s="https://shop.example/1">'

def read(texts):
    inside = "".join(texts[name] for name in offer)
    others = "".join(texts[name] for name in fields)
    product = f"<s:product><s:offer>{inside}</s:offer>{others}<s:size>XL</s:size></s:product>"
    record = f"<url><loc>https://a.b/</loc>{product}</url>"
    return check_ways((root + record * 3 + "</urlset>").encode())

every = {**offer, **fields}
for changed, ways in every.items():
    usual = {name: texts[0] for name, texts in every.items()}
    for way in ways:
        events = read(usual | {changed: way})
        assert len(events) == 3 and all(len(each.products) == 1 for each in events), way
    for way in ["", *empty]:
        events = read(usual | {changed: way.format(changed, changed)})
        assert [getattr(each, "value", None) for each in events] == ["<product>", None] * 3
        assert not any(each.products for each in events[1::2])
for missing in combinations(every, 2):
    events = read({name: "" if name in missing else texts[0] for name, texts in every.items()})
    assert [getattr(each, "value", None) for each in events] == ["<product>", None] * 3
print("done")
"""


def test_every_required_field_is_required_in_all_ways_of_reading(
    tmp_path: Path,
) -> None:
    """If one of several is missing or empty, there is an Issue and no value, by both ways."""
    assert run_with(tmp_path, PRODUCT, PRODUCT_ROW, REQUIRED) == ["done"]


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("Stall", "", "urn:demo/"), "write 'stall'"),
        (("stall", "", "http://demo.example/"), "write 'demo.example/'"),
        (("stall", "", "//demo.example/"), "write 'demo.example/'"),
        (("stall", "", "www.demo.example/"), "write 'demo.example/'"),
        (("stall", "", "urn:demo/", "urn:Demo/"), "write 'urn:demo/'"),
    ],
)
def test_an_extension_that_no_document_could_have(
    words: tuple[str, ...], advice: str
) -> None:
    """An extension whose name or namespace matches nothing is refused, with what to write."""
    with pytest.raises(ValueError, match=advice):
        extension(*words)


@attrs.define
class Texts:
    amount: str
    vat: str | None = None


@attrs.define
class Amount:
    amount: float


@attrs.define
class Rate:
    amount: str
    vat: float | None = None


@attrs.define
class CamelCase:
    amount: str
    vatRate: str | None = None  # noqa: N815 (the fault)


def attribute_of(element: str, attribute: str) -> dict[str, str]:
    return {"element": element, "attribute": attribute}


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        ({"colorName": (str, {})}, "write 'colorname'"),
        ({"color": (str, {"element": "colorName"})}, "write 'colorname'"),
        ({"color": (str, {"inside": "theOffer"})}, "write 'theoffer'"),
        ({"a": (str, {}), "b": (str, attribute_of("a", "isB"))}, "write 'isb'"),
        ({"b": (str, attribute_of("a", "b"))}, "below the field of its element"),
        (
            {"a": (str, {}), "b": (tuple[str, ...], attribute_of("a", "b"))},
            "not a tuple",
        ),
        ({"a": (str, {}), "b": (str, {"element": "a"})}, "element of another field"),
        ({"length": (timedelta, {})}, "its type must be str, int, float"),
        ({"length": (int | str | None, {})}, "its type must be str, int, float"),
        ({"colors": (list[str], {})}, "its type must be str, int, float"),
        ({"pair": (tuple[str, str], {})}, "its type must be str, int, float"),
        ({"cost": (Amount, {})}, "Amount.amount is the text of an element"),
        ({"cost": (Rate, {})}, "Rate.vat is an attribute of an element"),
        ({"cost": (CamelCase, {})}, "write 'vatrate'"),
    ],
)
def test_a_field_that_could_not_be_read(
    fields: dict[str, tuple[Any, dict[str, str]]], advice: str
) -> None:
    """A field that no document could have, or of another type, is refused with what to write."""
    model = attrs.make_class(
        "Product",
        {
            name: attrs.field(type=kind, metadata=metadata)
            for name, (kind, metadata) in fields.items()
        },
    )
    with pytest.raises(ValueError, match=advice):
        list_fields(model)


@attrs.define
class Product:
    number: int | None
    sizes: tuple[float, ...]
    costs: tuple[Texts, ...]
    cost: Texts | None = None


def test_a_field_of_each_type_is_read() -> None:
    """Values, classes of texts, and tuples of both are accepted."""
    many = [field.many for field in list_fields(Product).values()]
    assert many == [False, True, True, False]


@pytest.mark.parametrize(
    ("namespace", "first"),
    [
        ("google.com/schemas/sitemap-image/", "images"),
        ("google.com/schemas/sitemap-video/1.1", "videos"),
        ("purl.org/dc/elements/", "dc"),
    ],
)
def test_a_namespace_belongs_to_one_extension(
    tmp_path: Path, namespace: str, first: str
) -> None:
    """Otherwise one of the two would never be read, silently."""
    row = (
        f'    products: tuple[Product, ...] = extension("product", "", "{namespace}")\n'
    )
    (told,) = run_with(tmp_path, PRODUCT, row, IMPORT)
    assert told.startswith("UrlEntry.")
    assert f"{namespace!r}" in told
    assert told.endswith((f"are read as {first!r}", "are read as 'products'"))


IMPORT = """
try:
    import sitemapreader._read.vocabulary
except ValueError as error:
    print(str(error).partition(",")[0])
"""


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("Product", ""),
        ("Product | None", ""),
        ("tuple[Product, ...]", ", default=None"),
    ],
)
def test_a_row_whose_type_and_default_do_not_fit(
    tmp_path: Path, kind: str, default: str
) -> None:
    """The row of an entry is a tuple, or one value that may be absent; else the import fails."""
    row = f'    products: {kind} = extension("product", "", "shop.example/"{default})\n'
    assert run_with(tmp_path, PRODUCT, row, IMPORT) == [
        "UrlEntry.products: its type must be tuple[MODEL"
    ]
