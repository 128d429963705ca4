"""What a script raises and asserts."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from workbench.graph.types import NONE, TEXT
from workbench.jit.scripting.annotations import static
from workbench.jit.scripting.builder import Flow
from workbench.jit.scripting.comprehensions import Comprehensions

__all__ = ["Raising"]


class Raising(Comprehensions):
    """Reads statements that raise."""

    def thrown(self, kind: Any, message: Any) -> Flow:
        """Write what raises an exception."""
        self.emit("wb.graph.throw", (kind, message), NONE)
        return Flow.DIES

    def _raise(self, tree: ast.Raise) -> Flow:
        match tree.exc:
            case None:
                raise self.error(tree, "`raise` alone aren't supported", "Name the exception")
            case ast.Call(func=head, args=parts, keywords=[]):
                pass
            case head:
                parts = []
        try:
            found = static(head, self.place.around)
        except LookupError:
            found = None
        if not (isinstance(found, type) and issubclass(found, Exception)):
            raise self.error(
                tree, f"{ast.unparse(head)} is no exception", "Raise a ValueError, or another of Python's"
            )
        # A graph knows Python's own: of another, the one that it is made from.
        known = next(one for one in found.__mro__ if getattr(builtins, one.__name__, None) is one)
        message: Any = ""
        if len(parts) == 1:
            message = self._message(parts[0])
        elif parts:
            message = self.emit(
                "builtins.str", (tuple(self.value(one).operand for one in parts),), TEXT
            ).operand
        return self.thrown(known.__name__, message)

    def _message(self, tree: ast.expr) -> Any:
        item = self.value(tree)
        return item.operand if item.kind == TEXT else self.emit("builtins.str", (item.operand,), TEXT).operand

    def _assert(self, tree: ast.Assert, test: ast.expr, message: ast.expr | None) -> Flow:
        condition, holds, _ = self.condition(test)

        def fails() -> Flow:
            return self.thrown("AssertionError", "" if message is None else self._message(message))

        def goes_on() -> Flow:
            return Flow.FALLS

        flow = self.branch(condition, goes_on, fails)
        self.refine(holds)
        return flow
