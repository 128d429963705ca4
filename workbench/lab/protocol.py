"""Messages as TypeScript: what `workbench.live.messages` says, in the types of the other side of the wire.

The types are read from the syntax tree, not from the classes, because only the tree holds the comments of the fields.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

__all__ = ["typescript"]

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
    # What would end the comment is kept from ending it.
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
                # `readonly a | b[]` would be a, or a list of b.
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


def typescript(source: str) -> str:
    """The TypeScript that says the same as the Python text `source`, one file of messages.

    Raises:
        TypeError: an annotation has no equivalent.
    """
    module = ast.parse(source)
    parts: list[str] = []
    for statement, doc in _documented(module.body):
        match statement:
            case ast.ClassDef():
                parts.append(_interface(statement))
            case ast.Assign(targets=[ast.Name(id="PROTOCOL_VERSION")], value=value):
                parts.append(f"{_comment(doc)}export const PROTOCOL_VERSION = {ast.literal_eval(value)};\n")
    return "\n".join(parts)
