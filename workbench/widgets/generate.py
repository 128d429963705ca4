"""Writes the TypeScript types of `workbench.live.messages`, so that both sides of the wire share one source.

``python -m workbench.widgets.generate`` rewrites ``extensions/protocol/src/messages.ts``; with ``--check`` it
changes nothing and fails if the file differs. The types are read from the syntax tree, not from the
classes, because only the tree holds the comments of the fields.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["main", "typescript"]

MESSAGES = Path(__file__).parents[1] / "live" / "messages"
TARGET = Path(__file__).parents[2] / "extensions" / "protocol" / "src" / "messages.ts"

_HEADER = """\
// Generated from workbench/live/messages by `python -m workbench.widgets.generate`: do not edit.
"""

_PLAIN = {
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "object": "unknown",
    "None": "null",
}


def _comment(text: str, indent: str = "") -> str:
    """A docstring as a TypeScript comment; reStructuredText's double backquotes become single ones."""
    lines = [line.strip() for line in text.replace("``", "`").replace("*/", "* /").strip().splitlines()]
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"


def _type(node: ast.expr) -> str:
    """The TypeScript type of one annotation."""
    match node:
        case ast.Name(id=name):
            return _PLAIN.get(name, name)
        case ast.Constant(value=None):
            return "null"
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{_type(left)} | {_type(right)}"
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            values = choices.elts if isinstance(choices, ast.Tuple) else [choices]
            return " | ".join(f"'{ast.literal_eval(value)}'" for value in values)
        case ast.Subscript(value=ast.Name(id="list"), slice=element):
            inner = _type(element)
            return (
                f"readonly ({inner})[]"
                if "|" in inner or inner.startswith("readonly")
                else f"readonly {inner}[]"
            )
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, value])):
            return f"Readonly<Record<{_type(key)}, {_type(value)}>>"
    raise TypeError(
        f"line {node.lineno}: the annotation {ast.unparse(node)!r} has no TypeScript "
        "equivalent here; use str, int, float, bool, object, None, Literal, list, dict, a message or a union of these"
    )


def _documented(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Each statement of a body with the docstring that follows it ("" if none does)."""
    for index, statement in enumerate(body):
        following = body[index + 1] if index + 1 < len(body) else None
        match following:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield statement, text
            case _:
                yield statement, ""


def _interface(node: ast.ClassDef) -> str:
    """One dataclass as an interface."""
    text = _comment(ast.get_docstring(node) or "")
    text += f"export interface {node.name} {{\n"
    for statement, doc in _documented(node.body):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text += _comment(doc, "  ") if doc else ""
            text += f"  readonly {statement.target.id}: {_type(statement.annotation)};\n"
    return text + "}\n"


def _names(node: ast.expr) -> list[str]:
    if not isinstance(node, ast.Tuple):
        raise TypeError(f"line {node.lineno}: VIEWS holds pairs of tuples of message classes")
    return [ast.unparse(element) for element in node.elts]


def _views(table: ast.Dict) -> str:
    """VIEWS as one union of states and one of events a view, and a map from the view's name to both."""
    text, entries = "", ""
    for key, value in zip(table.keys, table.values, strict=True):
        if key is None or not isinstance(value, ast.Tuple):
            raise TypeError(f"line {value.lineno}: VIEWS maps a name to (states, events)")
        name = str(ast.literal_eval(key))
        states, events = (_names(part) for part in value.elts)
        title = name.capitalize()
        text += f"/** What the {name} view can draw; told apart by `kind`. */\n"
        text += f"export type {title}ViewState = {' | '.join(states)};\n\n"
        text += f"/** What the {name} view may send; told apart by `type`. */\n"
        text += f"export type {title}ViewEvent = {' | '.join(events)};\n\n"
        entries += (
            f"  readonly {name}: {{ readonly state: {title}ViewState; readonly event: {title}ViewEvent }};\n"
        )
    text += f"/** The states and events of each view. */\nexport interface Views {{\n{entries}}}\n\n"
    return text + "/** The name of a view. */\nexport type ViewName = keyof Views;\n"


def typescript(source: str) -> str:
    """The TypeScript that says the same as the Python text `source`, one file of messages.

    Raises:
        TypeError: an annotation has no equivalent, or ``VIEWS`` is not a literal of the expected form.
    """
    module = ast.parse(source)
    parts: list[str] = []
    for statement, doc in _documented(module.body):
        match statement:
            case ast.ClassDef():
                parts.append(_interface(statement))
            case ast.Assign(targets=[ast.Name(id="PROTOCOL_VERSION")], value=value):
                parts.append(f"{_comment(doc)}export const PROTOCOL_VERSION = {ast.literal_eval(value)};\n")
            case ast.AnnAssign(target=ast.Name(id="VIEWS"), value=ast.Dict() as table):
                parts.append(_views(table))
    return "\n".join(parts)


def _everything() -> str:
    """What the files of the messages say, one after the other; one that says nothing of its own adds nothing."""
    parts = [_HEADER]
    for path in sorted(MESSAGES.glob("*.py")):
        try:
            text = typescript(path.read_text(encoding="utf-8"))
        except TypeError as error:
            raise TypeError(f"{path.name}, {error}") from None
        if text:
            parts.append(f"// {path.stem}\n\n{text}")
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrites the generated file, or with ``--check`` says whether it is up to date."""
    parser = argparse.ArgumentParser(prog="python -m workbench.widgets.generate", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if the file is out of date"
    )
    options = parser.parse_args(arguments)
    wanted = _everything()
    present = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    if wanted == present:
        return 0
    if options.check:
        print(f"{TARGET} differs from {MESSAGES}; run: python -m workbench.widgets.generate", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
