"""Calls: which kind of thing is called, and with what."""

from __future__ import annotations

import ast
import inspect
from abc import abstractmethod
from typing import Any

from workbench.core.op import Op
from workbench.graph import NamedFunction, named
from workbench.graph.types import (
    TENSOR,
    ListType,
    Type,
)
from workbench.graph.vocabulary import named_for
from workbench.jit.kinds import (
    Item,
    ObjectKind,
    shown,
)
from workbench.jit.scripting.annotations import MODULES
from workbench.jit.scripting.builtin_calls import BUILTINS, BuiltinCalls
from workbench.jit.scripting.errors import ScriptError
from workbench.jit.scripting.offered import Arguments
from workbench.jit.scripting.things import Bound, Known, Nested, Part, PartMethod
from workbench.nn.graph_words import word_for
from workbench.ops import FUNCTIONS

__all__ = ["Calls"]


class Calls(BuiltinCalls):
    """Reads calls."""

    @abstractmethod
    def call_function(self, function: Any, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a function of the program's own."""

    @abstractmethod
    def call_class(self, cls: type, arguments: Arguments, tree: ast.Call) -> Any:
        """Make an object, a named tuple or a member of an enum; None where the class is another."""

    @abstractmethod
    def call_part(self, part: Part, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a module of layers."""

    @abstractmethod
    def call_part_method(self, method: PartMethod, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a method of a module of layers."""

    @abstractmethod
    def call_nested(self, nested: Nested, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a function that is written in the one that is compiled."""

    @abstractmethod
    def call_word(self, value: Any, tree: ast.Call, wanted: Type | None) -> Any:
        """Read a call of one of this room's own words, such as `annotate`; None where it is none."""

    def call(self, tree: ast.Call, wanted: Type | None) -> Any:
        """Read a call."""
        callee = self.expression(tree.func)
        if isinstance(callee, Known):
            found = self.call_word(callee.value, tree, wanted)
            if found is not None:
                return found
            builtin = getattr(self, f"_call_{getattr(callee.value, '__name__', '')}", None)
            if builtin is not None and any(one is callee.value for one in BUILTINS):
                return builtin(tree, wanted)
        arguments = self.arguments(tree, _put(callee))
        match callee:
            case Known(value=value):
                return self._call_known(value, arguments, tree, wanted)
            case Bound(receiver=item, name=name):
                return self._method(item, name, arguments, tree, wanted)
            case Part():
                return self.call_part(callee, arguments, tree)
            case PartMethod():
                return self.call_part_method(callee, arguments, tree)
            case Nested():
                return self.call_nested(callee, arguments, tree)
            case Item(kind=ObjectKind()):
                return self.call_method(callee, "__call__", arguments, tree)
        raise self._not_called(callee, tree)

    def _not_called(self, callee: Any, tree: ast.Call) -> ScriptError:
        name = ast.unparse(tree.func)
        if not isinstance(callee, Item):
            return self.error(tree, f"{name} cannot be called")
        fix = f"An argument without an annotation is a Tensor; {MODULES}" if callee.kind == TENSOR else ""
        return self.error(tree, f"{name} is {shown(callee.kind)}, and cannot be called", fix)

    def _call_known(self, value: Any, arguments: Arguments, tree: ast.Call, wanted: Type | None) -> Any:
        entry = value if isinstance(value, Op) else named_for(value) or word_for(value) or _offered_as(value)
        if entry is not None:
            name = entry.name
            if not isinstance(entry, Op) and name.partition(".")[0] in ("math", "operator"):
                return self._number(name, arguments, tree)
            return self.offered(entry, value, arguments, tree, wanted)
        if isinstance(value, type):
            found = self.call_class(value, arguments, tree)
            if found is not None:
                return found
        return self.call_function(value, arguments, tree)


def _put(callee: Any) -> Type | None:
    """Return the type of what a call puts into a list; None for any other call."""
    kind = callee.receiver.kind if isinstance(callee, Bound) and callee.name == "append" else None
    return kind.item if isinstance(kind, ListType) else None


def _offered_as(function: Any) -> NamedFunction | None:
    """Return the function that is offered, of the one that the house's own code calls: that takes no ``out=``."""
    name = getattr(function, "__name__", "")
    offered = FUNCTIONS.get(name)
    return named(f"wb.{name}") if offered is not None and inspect.unwrap(offered) is function else None
