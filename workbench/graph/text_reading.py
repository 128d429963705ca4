"""Reading graphs in the style of TorchScript's text, as `workbench.graph.text` writes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.graph.blocks import NAME, Block, Control, Value
from workbench.graph.reader import Reader
from workbench.graph.rules import KINDS
from workbench.graph.type_reading import type_at

__all__ = ["read_text"]

_HEAD = re.compile(r"(\w+)\((.*)\):")
# Names may have dots and digits: before `.shape[0]` as few characters as possible are the name.
_NAME = re.compile(rf"%({NAME}?)(?=\.shape\[\d)|%({NAME})")
_VALUE = re.compile(rf"%({NAME}) : ")
_CALLEE = re.compile(
    r"""(?:@(?P<function>\w+)|modules\[(?P<module>'[^']*'|"[^"]*")\]|"""
    r"""functions\[(?P<held>'[^']*'|"[^"]*")\]|(?P<word>[\w.]+))\("""
)
_REST = re.compile(rf"(?: writes (?P<writes>%{NAME}(?:, %{NAME})*))?(?P<colon>:?)(?:  # (?P<where>.*))?")
_CONTROL = {one.value: one for one in Control}


@dataclass
class _Waiting:
    """A node whose blocks are being read."""

    made: list[Value]
    callee: Control
    inputs: list[Any]
    writes: list[str]
    where: str
    blocks: list[Block] = field(default_factory=list)
    inside: bool = False
    """True while the lines of one of its blocks are read."""

    @property
    def next(self) -> str:
        """What its next block is called."""
        return KINDS[self.callee].blocks[len(self.blocks)]


def read_text(reader: Reader, source: str) -> None:
    """Read all of `source`."""
    lines = source.strip().split("\n")
    if _HEAD.fullmatch(lines[0]) is None:
        raise reader.refuse(
            "is none that a graph begins with: its text starts with a line 'name(%x : f32[N:2], ...):'"
        )
    stack: list[_Waiting] = []
    head = True
    # The reader has the number of the line at all times, for its errors.
    for reader.line, line in enumerate(lines, 1):
        stripped = line.strip()
        if head or reader.returned:
            head = not _begin(reader, stripped)
        elif stack and not stack[-1].inside:
            _enter(reader, stack[-1], stripped)
        elif stripped.startswith("return ") or stripped == "return":
            _leave(reader, stack, stripped[7:])
        else:
            _read_line(reader, stack, stripped)


def _begin(reader: Reader, line: str) -> bool:
    """Read the line that a function begins with; say whether it was one, and not an empty line."""
    if not line:
        return not reader.returned
    found = _HEAD.fullmatch(line)
    if found is None:
        raise reader.refuse("comes after the return")
    inputs = _values(reader, found[2])
    reader.begin(found[1])
    for value in inputs:
        reader.take(value)
    return True


def _enter(reader: Reader, node: _Waiting, line: str) -> None:
    """Read the line that a block begins with."""
    found = _HEAD.fullmatch(line)
    if found is None or found[1] != node.next:
        raise reader.refuse(f"has {line[:80]!r} where a block '{node.next}(...):' is expected")
    node.blocks.append(reader.enter(_values(reader, found[2])))
    node.inside = True


def _leave(reader: Reader, stack: list[_Waiting], written: str) -> None:
    """Read what a function or a block returns."""
    if not stack:
        reader.give(_returned(reader, written))
        return
    inputs, params = _arguments(reader, written)
    if params:
        raise reader.refuse(f"returns {written[:80]!r}, which is not a value or several")
    reader.leave(inputs)
    node = stack[-1]
    node.inside = False
    if len(node.blocks) == len(KINDS[node.callee].blocks):
        stack.pop()
        reader.call(node.made, node.callee, node.inputs, {}, node.where, tuple(node.blocks), node.writes)


def _returned(reader: Reader, written: str) -> Any:
    inputs, params = _arguments(reader, written)
    if len(inputs) != 1 or params:
        raise reader.refuse(f"returns {written[:80]!r}, which is not a value or several in parentheses")
    return inputs[0]


def _values(reader: Reader, part: str) -> list[Value]:
    """Read ``%a : f32[N:2], %b : i64[]``."""
    values, end = _values_at(reader, part, 0)
    if end != len(part):
        raise reader.refuse(f"has {part[end : end + 80]!r} where a value is expected, such as %x : f32[N:2]")
    return values


def _values_at(reader: Reader, part: str, at: int) -> tuple[list[Value], int]:
    values: list[Value] = []
    while at < len(part):
        match = _VALUE.match(part, at)
        if match is None:
            raise reader.refuse(
                f"has {part[at : at + 80]!r} where a value is expected, such as %x : f32[N:2]"
            )
        kind, at = type_at(part, match.end(), reader.refuse)
        values.append(Value(match[1], kind))
        if part[at : at + 2] != ", ":
            break
        at += 2
    return values, at


def _read_line(reader: Reader, stack: list[_Waiting], line: str) -> None:
    """Read a line inside a function or block that does not end it."""
    # Only outside blocks: an update is of the whole run.
    update = re.fullmatch(rf"update %({NAME}) = %({NAME})", line)
    if update is not None and not stack:
        reader.update(update[1], update[2])
        return
    if line.startswith("kind ") and not stack:
        reader.mark(_text(reader, line.removeprefix("kind ")))
        return
    if line.startswith("takes ") and not stack:
        tree, find = _expression(reader, line.removeprefix("takes "))
        reader.take_apart(reader.operand(tree, find))
        return
    if line.startswith("assert "):
        condition, _, source = line.removeprefix("assert ").partition("  # ")
        tree, find = _expression(reader, condition)
        reader.require(tree, find, source)
        return
    if not line.startswith("%"):
        raise reader.refuse(f"is not understood: {line[:80]}")
    made, at = _values_at(reader, line, 0)
    callee = _CALLEE.match(line, at + 3) if line[at : at + 3] == " = " else None
    end = -1 if callee is None else _closing(line, callee.end())
    rest = None if end < 0 else _REST.fullmatch(line, end + 1)
    if callee is None or rest is None:
        raise reader.refuse(f"is not understood: {line[:80]}")
    written, where = line[callee.end() : end], rest["where"] or ""
    word = callee["word"]
    if word in ("parameter", "constant", "seed"):
        if len(made) != 1 or (written and word != "seed") or stack:
            raise reader.refuse(f"is not understood: {line[:80]}")
        if word == "seed":
            operands, keywords = _arguments(reader, written)
            reader.seed(made[0].name, made[0].type, tuple(operands), keywords)
        else:
            reader.hold(word, made[0].name, made[0].type)
        return
    writes = [one[1:] for one in (rest["writes"] or "").split(", ") if one]
    inputs, params = _arguments(reader, written)
    # A colon announces blocks, and only control flow has some.
    if bool(rest["colon"]) != (word in _CONTROL) or (word in _CONTROL and params):
        raise reader.refuse(f"is not understood: {line[:80]}")
    if word in _CONTROL:
        stack.append(_Waiting(made, _CONTROL[word], inputs, writes, where))
        return
    reader.call(made, _callee(reader, callee), inputs, params, where, (), writes)


def _callee(reader: Reader, found: re.Match[str]) -> Any:
    if found["function"] is not None:
        return reader.function(found["function"])
    if found["module"] is not None:
        return reader.module(_text(reader, found["module"]))
    if found["held"] is not None:
        return reader.held_function(_text(reader, found["held"]))
    return reader.named(found["word"]) if "." in found["word"] else reader.op(found["word"])


def _text(reader: Reader, written: str) -> str:
    try:
        return str(ast.literal_eval(written))
    except (SyntaxError, ValueError):
        raise reader.refuse(f"has {written[:80]}, which is no text") from None


def _strings(line: str, start: int) -> Iterator[int]:
    """Yield the places of characters that are in no text in quotes."""
    quote = ""
    skip = False
    for i in range(start, len(line)):
        # By hand: brackets and % inside a text in quotes mean nothing.
        char = line[i]
        if skip:
            skip = False
        elif quote:
            skip = char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            yield i


def _closing(line: str, start: int) -> int:
    """Return where the bracket that was opened before `start` is closed, or -1."""
    depth = 1
    for i in _strings(line, start):
        depth += (line[i] == "(") - (line[i] == ")")
        if depth == 0:
            return i
    return -1


Find = Callable[[ast.expr], Value | None]


def _expression(reader: Reader, written: str) -> tuple[ast.expr, Find]:
    """Return the syntax tree of an expression, and what finds the values in it: they get names that Python knows."""
    names: list[str] = []
    plain, end = [], 0
    for i in _strings(written, 0):
        match = _NAME.match(written, i) if written[i] == "%" and i >= end else None
        if match is not None:
            # Names of a graph are no names in Python: each value stands as `_0`, `_1`, … in what `ast` reads.
            plain += [written[end:i], f"_{len(names)}"]
            names.append(match[1] or match[2])
            end = match.end()
    plain.append(written[end:])
    try:
        tree = ast.parse("".join(plain), mode="eval").body
    except (SyntaxError, ValueError):
        raise reader.refuse(f"has what is not understood: {written[:80]}") from None
    known = {f"_{i}": name for i, name in enumerate(names)}

    def find(tree: ast.expr) -> Value | None:
        return reader.find(known[tree.id]) if isinstance(tree, ast.Name) and tree.id in known else None

    return tree, find


def _arguments(reader: Reader, written: str) -> tuple[list[Any], dict[str, Any]]:
    """Read the operands of a call."""
    call, find = _expression(reader, f"f({written})")
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise reader.refuse(f"has arguments that are not understood: {written[:80]}")
    return [reader.operand(one, find) for one in call.args], reader.keywords(call, find)
