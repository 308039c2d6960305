"""Messages of the package: each sentence that it can print or raise, found in its code.

A literal of the code is a message if it reads as prose: two words with a blank between them. Left
out are docstrings and texts for machines, such as SQL, regular expressions and types.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from sitemapreader.audit.rules import ISSUES, list_rules, load_rules
from tests.support import package

if TYPE_CHECKING:
    from collections.abc import Iterator

PROSE = re.compile(r"[A-Za-z}>`][,:;)]* [({`<']?[A-Za-z{]")
"""Two words with a blank between them; a word may be a placeholder."""
SQL = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|PRAGMA|CREATE|ALTER|ATTACH|DETACH|COPY|JOIN|WHERE"
    r"|ORDER BY|GROUP BY|BEGIN|BETWEEN|VACUUM|COALESCE|IS (NOT )?NULL|DROP (TABLE|VIEW)|READ_ONLY"
    r"|SAVEPOINT|RELEASE|ROLLBACK|STRUCT|VARCHAR|TIMESTAMP|AND NOT|SET [a-z_]+ =)\b|\biif\("
    r"|\bdocument\.[a-z_]+ [<=>O]"
)
CODE = re.compile(
    r"\(\?[:=!<>P]|\[\^|\\[sdwbx]|</|^<!|\{%|^[a-z-]+=\{|\w\[\w*[\[(]|^[A-Z]\w+\[|;q=|; charset="
)
"""Groups of regular expressions, end tags, templates, types and headers."""
UNPRINTED_CALLS = {"TypeAlias", "TypeVar", "cast", "compile", "frozenset", "getLogger"}
"""Calls whose texts nobody reads."""
UNPRINTED_TABLES = {"_NAMES_BY_MODULE", "_PATTERNS"}
"""Tables whose texts nobody reads: names of modules."""
UNPRINTED_MODULES = {"_cli.commands.completion"}
"""Modules whose texts are programs of a shell."""
RULE_TEXTS = {"title": "", "detects": "what", "meaning": "meaning", "advice": "advice"}
"""Text of a rule -> its name in `issues.toml`, where the rule is an Issue."""


def list_messages() -> list[str]:
    """Return all messages, one a line: module, colon, text. The texts of audit rules come last."""
    found: list[str] = []
    for name, tree in package.modules().items():
        if name not in UNPRINTED_MODULES:
            texts = dict.fromkeys(find_messages(tree))
            found += [f"{name or 'sitemapreader'}: {text}" for text in texts]
    return found + list(_list_rule_texts())


def find_messages(node: ast.AST) -> Iterator[str]:
    """Yield the messages of a module in their order. Expressions are placeholders in braces."""
    text = _write(node)
    if text is not None:
        yield from _split(text)
    for child in ast.iter_child_nodes(node):
        is_part = isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)
        if not is_part and not _is_unprinted(child, node):
            yield from find_messages(child)


def _write(node: ast.AST) -> str | None:
    """Return the text of a literal; an expression in it is written in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else _show_placeholder(part)
        for part in node.values
    )


def _show_placeholder(part: ast.expr) -> str:
    """Return an expression in braces: its last name, which says what stands there."""
    assert isinstance(part, ast.FormattedValue)
    value: ast.AST = part.value
    if isinstance(value, ast.Call) and value.args:
        value = value.args[0]
    if isinstance(value, ast.Subscript):
        value = value.value
    return f"{{{_name(value) or '...'}}}"


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_unprinted(child: ast.AST, parent: ast.AST) -> bool:
    """Tell whether a node is documentation, a type, or a text that nobody reads."""
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True
    if isinstance(child, ast.Call) and _name(child.func) in UNPRINTED_CALLS:
        return True
    if isinstance(child, ast.Assign) and _name(child.targets[0]) in UNPRINTED_TABLES:
        return True
    match parent:
        case ast.AnnAssign() | ast.arg():
            return child is parent.annotation
        case ast.Call() if _name(parent.func) == "Option":
            return child in parent.args[:2]  # flags and commands
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return child is parent.returns
    return False


def _split(text: str) -> Iterator[str]:
    """Yield the lines of a text that read as prose."""
    if SQL.search(text) or CODE.search(text):
        return
    for line in text.splitlines():
        if PROSE.search(line):
            yield _escape(line.strip())


def _escape(text: str) -> str:
    return text.encode("unicode_escape").decode()


def _list_rule_texts() -> Iterator[str]:
    """Yield the texts of audit rules; an Issue's rule has some of its own, in `issues.toml`."""
    from_files = {rule.code for rule, _ in load_rules()}
    issues = {str(code): texts for code, texts in ISSUES.items()}
    for rule in list_rules().values():
        own = issues.get(rule.code, {})
        for name, key in RULE_TEXTS.items():
            text = getattr(rule, name)
            if text and (rule.code in from_files or key in own):
                yield f"rule {rule.code}: {name}: {_escape(' '.join(text.split()))}"
