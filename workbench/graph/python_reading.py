"""Reading graphs in Python's form, as `workbench.graph.python_text` writes it, out of its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.graph.blocks import Block, Control, Value
from workbench.graph.python_printing import IMPORTS, MORE_IMPORTS
from workbench.graph.reader import Reader
from workbench.graph.types import Type

__all__ = ["read_python"]

_PLACES = ("parameters", "constants", "modules", "functions")
"""Arguments that are no inputs of the graph."""


def read_python(reader: Reader, source: str) -> None:
    """Read all of `source`."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        reader.line = getattr(error, "lineno", None) or 1
        raise reader.refuse("is not Python") from None
    lines = source.splitlines()
    # Compared as text: nothing is imported, whatever a file says.
    allowed = {*IMPORTS, *MORE_IMPORTS.values()}
    functions = [one for one in body if isinstance(one, ast.FunctionDef)]
    begun = False
    for statement in _numbered(reader, body):
        # A decorator would be code, and change what the function is in Python.
        if isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
            begun = True
            _Function(reader, lines).read(statement, last=statement is functions[-1])
        elif begun:
            raise reader.refuse("is not a plain function")
        elif ast.unparse(statement) not in allowed:
            raise reader.refuse("is not what a graph's Python begins with")


def _numbered(reader: Reader, statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, and tell the reader the line of each."""
    for one in statements:
        reader.line = one.lineno
        yield one


class _Function:
    """One function as it is read."""

    def __init__(self, reader: Reader, lines: list[str]) -> None:
        self.reader = reader
        self.lines = lines
        self.waiting: dict[str, tuple[Type, list[str]]] = {}
        """Types of values that a line below makes, and what that line writes into."""
        self.places: tuple[str, ...] = ()

    def read(self, function: ast.FunctionDef, last: bool) -> None:
        """Read the function; only the last one holds tensors and modules."""
        reader = self.reader
        reader.begin(function.name)
        self._inputs(function.args, last)
        self._statements(function.body)

    def _inputs(self, arguments: ast.arguments, last: bool) -> None:
        reader = self.reader
        names = [one.arg for one in arguments.args]
        # In this order only; modules and functions only where there are some.
        found = [name for name in _PLACES if name in names]
        count = len(found) if names[: len(found)] == found else 0
        plain = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs)
        if not plain or arguments.defaults or (found[:2] != [*_PLACES[:2]] if last else count > 0):
            raise reader.refuse("takes something else than parameters, constants and typed inputs")
        self.places = tuple(found[:count])
        for one in arguments.args[count:]:
            reader.take(Value(one.arg, self._annotation(one.annotation)[0]))

    def _annotation(self, tree: ast.expr | None) -> tuple[Type, list[str]]:
        """Read ``"f32[N:2]"``, or ``"f32[N:2] writes x, y"``."""
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            written, _, writes = tree.value.partition(" writes ")
            return self.reader.type(written), [one for one in writes.split(", ") if one]
        raise self.reader.refuse('has no type, such as x: "f32[N:2]"')

    # --------------------------------------------------------------------------------------- statements

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        """Read the statements of a function or a block, but for the last of a block."""
        # A loop is three statements: what it begins with, the `while`, and what it gives.
        rest = list(statements)
        while rest:
            statement = rest.pop(0)
            self.reader.line = statement.lineno
            if self.reader.returned:
                raise self.reader.refuse("comes after the return")
            if isinstance(statement, ast.If):
                self._if(statement)
            elif len(rest) > 1 and isinstance(rest[0], ast.While):
                self._loop(statement, rest.pop(0), rest.pop(0))  # type: ignore[arg-type]
            else:
                self._statement(statement)

    def _where(self, line: str) -> str:
        return line.removeprefix("  # ") if line.startswith("  # ") else ""

    def _after(self, statement: ast.stmt | ast.expr) -> str:
        """Return what the comment behind a statement says."""
        end = statement.end_lineno or 1
        # Columns of `ast` count bytes of UTF-8.
        rest = self.lines[end - 1].encode()[statement.end_col_offset :].decode()
        return self._where(rest.removeprefix(":"))

    def _statement(self, statement: ast.stmt) -> None:
        reader = self.reader
        match statement:
            case ast.AnnAssign(target=ast.Subscript() as target, annotation=kind, value=None):
                place, name = self._held(target)
                reader.hold(place, name, self._annotation(kind)[0])
            case ast.Assign(targets=[ast.Name(id="takes")], value=ast.Tuple() as takes):
                reader.take_apart(self._operand(takes))
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=None):
                self.waiting[name] = self._annotation(kind)
            case ast.AnnAssign(
                target=ast.Name(id=name),
                annotation=kind,
                value=ast.Call(func=ast.Name(id="seed_from"), args=[]),
            ):
                reader.seed(name, self._annotation(kind)[0], (), {})
            case ast.AnnAssign(
                target=ast.Name(id=name),
                annotation=kind,
                value=ast.Call(func=ast.Name(id="noise"), args=[_, *_]) as call,
            ):
                operands = tuple([self._operand(one) for one in call.args])
                keywords = reader.keywords(call, self._value)
                reader.seed(name, self._annotation(kind)[0], operands, keywords)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=ast.Call() as call):
                written, writes = self._annotation(kind)
                self._call([Value(name, written)], call, writes, self._after(statement))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call() as call):
                made, writes = self._waited([_name(one) for one in targets])
                self._call(made, call, writes, self._after(statement))
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=(ast.Subscript() | ast.Name()) as target, attr="copy_"),
                    args=[ast.Call(func=ast.Attribute(value=after, attr="detach"), args=[])],
                )
            ):
                value = self._value(after)
                if value is None:
                    raise self._not_understood(statement)
                # A parameter stands in a table, an input has a name.
                what = target.id if isinstance(target, ast.Name) else self._held(target)[1]
                reader.update(what, value.name)
            case ast.Expr(value=ast.Constant(value=str() as kind)):
                reader.mark(kind)
            case ast.Assert(test=condition, msg=None):
                reader.require(condition, self._value, self._after(statement))
            case ast.Return(value=tree) if tree is not None:
                reader.give(self._operand(tree))
            case _:
                raise self._not_understood(statement)

    def _not_understood(self, tree: ast.AST) -> Exception:
        return self.reader.refuse(f"is not understood: {ast.unparse(tree)[:80]}")

    def _waited(self, names: Sequence[str | None]) -> tuple[list[Value], list[str]]:
        """Return the values of these names, whose types stand above."""
        if not all(name in self.waiting for name in names):
            raise self.reader.refuse("makes values that have no type")
        found = [(name, *self.waiting.pop(name)) for name in names if name is not None]
        return [Value(name, kind) for name, kind, _ in found], [
            one for _, _, writes in found for one in writes
        ]

    # ------------------------------------------------------------------------------------ control flow

    def _if(self, statement: ast.If) -> None:
        condition = self._operand(statement.test)
        where = self._after(statement.test)
        blocks = [self._block(part, []) for part in (statement.body, statement.orelse)]
        # The names that both blocks assign are what the node gives.
        if blocks[0][0] != blocks[1][0]:
            raise self.reader.refuse("gives other values in its two blocks")
        made, writes = self._waited(blocks[0][0])
        self.reader.call(made, Control.IF, (condition,), {}, where, tuple(one for _, one in blocks), writes)

    def _block(
        self, statements: Sequence[ast.stmt], inputs: Sequence[Value]
    ) -> tuple[list[str | None], Block]:
        """Read a block whose last line says under which names it gives what."""
        if not statements or not isinstance(last := statements[-1], ast.Assign):
            raise self.reader.refuse("has a block that gives nothing")
        block = self.reader.enter(inputs)
        self._statements(statements[:-1])
        self.reader.line = last.lineno
        targets, values = _pair(last)
        if values is None:
            raise self._not_understood(last)
        self.reader.leave([self._operand(one) for one in values])
        return targets, block

    def _loop(self, before: ast.stmt, loop: ast.While, after: ast.stmt) -> None:
        """Read ``i, goes, s = 0, True, x``, ``while goes and i < 5:`` and ``y = s``."""
        names, values = _pair(before)
        most, goes = self._bound(loop, names)
        made, results = _pair(after)
        if (
            values is None
            or len(names) != len(values)
            or results is None
            or len(names) < 3
            or goes != names[1]
        ):
            raise self._not_understood(loop)
        zero, condition, *carried = values
        inputs, writes = self._waited([names[0], *names[2:]])
        operands = (most, *(self._operand(one) for one in (condition, *carried)))
        reads = [_name(one) for one in results]
        where = self._after(loop.test)
        # After the operands: those belong to what is around, and the body may not be known to them.
        targets, block = self._block_of_loop(loop.body, inputs, names)
        if ast.unparse(zero) != "0" or targets != names or reads != names[2:]:
            raise self._not_understood(loop)
        outputs, more = self._waited(made)
        self.reader.call(outputs, Control.LOOP, operands, {}, where, (block,), [*writes, *more])

    def _block_of_loop(
        self, statements: Sequence[ast.stmt], inputs: Sequence[Value], names: Sequence[str | None]
    ) -> tuple[list[str | None], Block]:
        """Read the body of a loop: what it gives begins with the next turn, which is no operand."""
        last = statements[-1]
        targets, values = _pair(last)
        # The turn counts by itself in the graph: any other step would be lost.
        if values is None or ast.unparse(values[0]) != f"{names[0]} + 1" or not isinstance(last, ast.Assign):
            raise self._not_understood(last)
        block = self.reader.enter(inputs)
        self._statements(statements[:-1])
        self.reader.line = last.lineno
        self.reader.leave([self._operand(one) for one in values[1:]])
        return targets, block

    def _bound(self, loop: ast.While, names: Sequence[str | None]) -> tuple[Any, str | None]:
        """Return how often a loop runs at most, and the name of its condition."""
        match loop.test:
            case ast.Name(id=name):
                return None, name
            case ast.BoolOp(
                op=ast.And(),
                values=[
                    ast.Name(id=name),
                    ast.Compare(left=ast.Name(id=turn), ops=[ast.Lt()], comparators=[most]),
                ],
            ) if names and turn == names[0]:
                return self._operand(most), name
        raise self._not_understood(loop)

    # ------------------------------------------------------------------------------------------- calls

    def _held(self, tree: ast.expr) -> tuple[str, str]:
        match tree:
            case ast.Subscript(
                value=ast.Name(id="parameters" | "constants" as place),
                slice=ast.Constant(value=str() as name),
            ) if place in self.places:
                return place.removesuffix("s"), name
        raise self._not_understood(tree)

    def _value(self, tree: ast.expr) -> Value | None:
        """Return the value that an expression names; None where it is something else."""
        if isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Name):
            return self.reader.find(self._held(tree)[1])
        # Those two are numbers; the writer takes care that no value is called so.
        if isinstance(tree, ast.Name) and tree.id not in ("inf", "nan"):
            return self.reader.find(tree.id)
        return None

    def _operand(self, tree: ast.expr) -> Any:
        return self.reader.operand(tree, self._value)

    def _call(self, made: list[Value], call: ast.Call, writes: list[str], where: str) -> None:
        inputs = [self._operand(one) for one in call.args]
        params = self.reader.keywords(call, self._value)
        self.reader.call(made, self._callee(call.func), inputs, params, where, (), writes)

    def _callee(self, tree: ast.expr) -> Any:
        reader = self.reader
        match tree:
            case ast.Attribute(value=ast.Name(id="ops"), attr=name):
                return reader.op(name)
            case ast.Name(id=name):
                return reader.function(name)
            case ast.Subscript(value=ast.Name(id="modules"), slice=ast.Constant(value=str() as path)):
                # Else it is an argument of the function that happens to be called so.
                if "modules" in self.places:
                    return reader.module(path)
            case ast.Subscript(value=ast.Name(id="functions"), slice=ast.Constant(value=str() as path)):
                if "functions" in self.places:
                    return reader.held_function(path)
            case ast.Attribute():
                return reader.named(ast.unparse(tree))
        raise reader.refuse(f"calls {ast.unparse(tree)[:80]!r}, which is nothing that a graph calls")


def _name(tree: ast.expr) -> str | None:
    return tree.id if isinstance(tree, ast.Name) else None


def _pair(statement: ast.stmt) -> tuple[list[str | None], list[ast.expr] | None]:
    """Return the names and the expressions of ``a, b = x, y`` or ``a = x``; None where it is something else."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(
            targets
        ) == len(values):
            return [_name(one) for one in targets], values
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return [name], [value]
    return [], None
