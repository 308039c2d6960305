"""Pictures of a terminal, as SVG: what a command prints, in the colours of a terminal."""

from __future__ import annotations

from html import escape
from textwrap import wrap

COLUMNS = 100
_CHAR_WIDTH = 8.4
_LINE_HEIGHT = 19
_MARGIN = 20
_COLOURS = {"$": "#7ee787", "error": "#ff7b72", "warning": "#e3b341", "": "#e6edf3"}
_FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img">
<title>{title}</title>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">
{rows}
</g>
</svg>
"""


def draw_terminal(title: str, lines: list[str]) -> str:
    """Draw lines of a terminal; long ones are wrapped."""
    rows: list[str] = []
    for line in lines:
        colour = _choose_colour(line)
        parts = wrap(
            line, COLUMNS, drop_whitespace=False, subsequent_indent="    "
        ) or [""]
        for part in parts:
            y = _MARGIN + _LINE_HEIGHT * (len(rows) + 1)
            text = escape(part, quote=False)
            rows.append(
                f'<text x="{_MARGIN}" y="{y}" fill="{colour}" xml:space="preserve">{text}</text>'
            )
    width = round(2 * _MARGIN + COLUMNS * _CHAR_WIDTH)
    height = 2 * _MARGIN + _LINE_HEIGHT * (len(rows) + 1)
    return _FRAME.format(
        width=width, height=height, title=escape(title), rows="\n".join(rows)
    )


def _choose_colour(line: str) -> str:
    if line.startswith("$"):
        return _COLOURS["$"]
    if "error " in line or "failed" in line or "not read" in line:
        return _COLOURS["error"]
    if "warning " in line or "partial" in line or "in part" in line:
        return _COLOURS["warning"]
    return _COLOURS[""]
