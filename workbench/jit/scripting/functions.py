"""Functions: how they are compiled, and calls of one another."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from workbench.graph import Graph, HeldFunction, SubGraph, Value
from workbench.graph.blocks import operand_type, values_in
from workbench.graph.types import NONE, TENSOR, OptionalType, TensorType, TupleType, Type
from workbench.graph.walk import walk
from workbench.jit import guards
from workbench.jit.kinds import (
    Item,
    fits,
    lowered,
    optional,
    shown,
)
from workbench.jit.script_modules import ScriptFunction
from workbench.jit.scripting.builder import RESULT, Flow, Place, Variable
from workbench.jit.scripting.calls import Calls
from workbench.jit.scripting.declared import result_kind
from workbench.jit.scripting.errors import ScriptError
from workbench.jit.scripting.names import assigned_in
from workbench.jit.scripting.offered import Arguments
from workbench.jit.scripting.signatures import Signature, signature_of
from workbench.jit.scripting.source import function_tree, names_around
from workbench.jit.scripting.things import Many, Nested

__all__ = ["Functions", "give"]


_DEEPEST = 48
"""Functions that call one another: what goes deeper calls itself, by way of others."""


class Functions(Calls):
    """Compiles functions and calls of them."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.signatures: dict[Any, Signature] = {}
        self.compiled: dict[Any, tuple[SubGraph, Type]] = {}
        self.open: list[Any] = []
        """Functions that are being compiled."""

    def signature(self, function: Any, method: bool = False) -> Signature:
        """Return what a function takes and gives."""
        function = getattr(function, "__func__", function)
        key = (function, method)
        if key not in self.signatures:
            tree, source = function_tree(function)
            defaults = {
                name: one.default
                for name, one in inspect.signature(function).parameters.items()
                if one.default is not inspect.Parameter.empty
            }
            self.signatures[key] = signature_of(tree, source, names_around(function), defaults, method)
        return self.signatures[key]

    def bound(self, signature: Signature, arguments: Arguments, tree: ast.AST, name: str) -> dict[str, Any]:
        """Return the arguments of a call by their names, as what the function asks for."""
        given: dict[str, Any] = dict(zip(signature.names, arguments.things, strict=False))
        more = arguments.things[len(signature.names) :]
        if more and not signature.rest:
            raise self.error(
                tree, f"{name}() takes {len(signature.names)} arguments, and here are {len(arguments.things)}"
            )
        for key, thing in arguments.keywords.items():
            if key not in signature.names or key in given:
                raise self.error(tree, f"{name}() has no argument {key!r} to be given here")
            given[key] = thing
        for key in signature.names:
            if key in given:
                continue
            if key not in signature.defaults:
                raise self.error(tree, f"{name}() is missing value for argument '{key}'")
            found = self.default_of(signature.defaults[key])
            if found is None:
                raise self.error(
                    tree, f"the default of {key} is no value that a script has", "Pass it in the call"
                )
            given[key] = found
        kinds = dict(zip(signature.names, signature.kinds, strict=True))
        for key, kind in kinds.items():
            if kind is not None:
                what = f"the argument {key} of {name}"
                given[key] = self.coerced(self.as_item(given[key], tree), kind, tree, what)
        if signature.rest:
            given[signature.rest] = Many(tuple(more))
        return given

    def default_of(self, value: Any) -> Any:
        """Return the default of an argument as a thing."""
        found = self.constant_of(value)
        if found is None and hasattr(type(value), "__members__"):
            return self.member(value)
        return found

    def inlined(
        self,
        signature: Signature,
        names: dict[str, Any],
        name: str,
        scope: tuple[str, ...] | None = None,
        self_: Any = None,
    ) -> Item:
        """Write a function in the place of its call."""
        outer, before, tree = self.place, self.names, self.tree
        self.place = Place(signature.source, signature.around, name, outer.scope if scope is None else scope,
                           signature.result, depth=outer.depth, outer=outer, no_grad=outer.no_grad,
                           part=self_)  # fmt: skip
        self.names = {key: Variable(one, _kind_of(one)) for key, one in names.items()}
        if self_ is not None:
            first = [*signature.tree.args.posonlyargs, *signature.tree.args.args][0].arg
            self.names[first] = Variable(self_)
        try:
            return self._body(signature)
        finally:
            self.place, self.names, self.tree = outer, before, tree

    def _body(self, signature: Signature) -> Item:
        """Write the body of a function, and return its result."""
        flow = self.statements(signature.tree.body)
        wanted = self.place.result
        found = self.names.get(RESULT)
        if flow in (Flow.FALLS, Flow.DIES) or not isinstance(found, Variable):
            if wanted not in (None, NONE) and flow is not Flow.DIES:
                raise self._unfinished(signature, wanted)
            return (
                Item(None, NONE) if flow is not Flow.DIES or wanted is None else Item(None, optional(wanted))
            )
        item: Item = found.item
        if flow is Flow.MAY_LEAVE:
            if item.kind != NONE and not isinstance(item.kind, OptionalType):
                raise self._unfinished(signature, item.kind)
            return item
        return self.narrow(item)

    def _unfinished(self, signature: Signature, wanted: Type | None) -> ScriptError:
        said = shown(wanted) if wanted is not None else ""
        return self.error(
            signature.tree, f"{signature.tree.name} gives {said}, but does not return along all paths",
            "Add a return at its end, or a raise",
        )  # fmt: skip

    def call_nested(self, nested: Nested, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a function that is written in the one that is compiled: its names are those around it."""
        if nested.place is not self.place and nested.place is not self.place.outer:
            raise self.error(
                tree, f"{nested.tree.name} is called outside of the function that it is written in"
            )
        defaults: dict[str, Any] = {}
        positional = nested.tree.args.args
        for one, default in zip(positional[::-1], nested.tree.args.defaults[::-1], strict=False):
            defaults[one.arg] = self.value(default).operand
        signature = signature_of(nested.tree, nested.source, nested.around, defaults, False)
        given = self.bound(signature, arguments, tree, nested.tree.name)
        self._enter(nested.tree, tree, nested.tree.name)
        own = set(assigned_in(nested.tree.body))
        around = {
            name: one.item
            for name, one in self.names.items()
            if isinstance(one, Variable) and name not in own and name[0] != "$"
        }
        try:
            return self.inlined(signature, {**around, **given}, nested.tree.name)
        finally:
            self.open.pop()

    def _enter(self, function: Any, tree: ast.AST, name: str) -> None:
        if any(one is function for one in self.open) or len(self.open) > _DEEPEST:
            raise self.error(
                tree, f"function '{name}' is called recursively. Recursive calls are not supported",
                "Write a loop, with a list for what is still to be done",
            )  # fmt: skip
        self.open.append(function)

    def call_function(self, function: Any, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a function of the program's own."""
        from_script = getattr(function, "scripted", None)
        if from_script is not None:
            function = from_script
        name = getattr(function, "__name__", type(function).__name__)
        told = getattr(function, guards.MODIFIER, None)
        if told == "unused":
            return self._unused(name, function)
        if told == "ignore":
            return self._held(function, arguments, tree)
        if isinstance(function, ScriptFunction):
            return self._traced(function, arguments, tree)
        if not inspect.isfunction(function):
            raise self.error(
                tree, f"Python builtin {name} is currently not supported in a script",
                "Write what it does with tensors, or put it into a function with @jit.ignore and an annotated result",
            )  # fmt: skip
        overloads = [one for one in guards.overloads_of(function) if one is not function]
        if str(function.__module__).startswith("workbench."):
            return self._of_house(function, arguments, tree, name)
        signature = self.signature(function)
        if overloads:
            signature = self._chosen(signature, overloads, arguments, tree, name)
        return self._of_program(function, signature, arguments, tree, name)

    def _of_program(
        self, function: Any, signature: Signature, arguments: Arguments, tree: ast.Call, name: str
    ) -> Any:
        """Call a function by its source."""
        self._enter(function, tree, name)
        try:
            if self._inlines(signature, arguments):
                return self.inlined(signature, self.bound(signature, arguments, tree, name), name)
            given = self.bound(signature, arguments, tree, name)
            return self._called(function, signature, given, name)
        finally:
            self.open.pop()

    def _of_house(self, function: Any, arguments: Arguments, tree: ast.Call, name: str) -> Any:
        """Call a function of the house's: by its source, or held as it is where that looks into tensors."""

        def compiled() -> Any:
            return self._of_program(function, self.signature(function), arguments, tree, name)

        def held() -> Item:
            self.graph.held_functions[name] = function
            inputs, params = self.operands(arguments, tree)
            kind = result_kind(function, inputs, params) or TENSOR
            operands = tuple(one.operand for one in inputs)
            return self.emit(
                HeldFunction(name), operands, kind, **{key: one.operand for key, one in params.items()}
            )

        return self.attempted(compiled, held)

    def attempted(self, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
        """Write one thing, or where that cannot be scripted another, with nothing of the first."""
        mark, names, place, depth = len(self.block.nodes), dict(self.names), self.place, self.place.depth
        block, opened = self.block, len(self.open)
        try:
            return first()
        except ScriptError:
            self.block, self.names, self.place = block, names, place
            self.place.depth = depth
            del self.block.nodes[mark:], self.open[opened:]
            return second()

    def _inlines(self, signature: Signature, arguments: Arguments) -> bool:
        """Say whether a function is written where it is called: it is given something else than values of its types."""
        things = [*arguments.things, *arguments.keywords.values()]
        if self.place.no_grad or signature.rest or not all(isinstance(one, Item) for one in things):
            return True
        given = dict(zip(signature.names, arguments.things, strict=False)) | arguments.keywords
        kinds = zip(signature.names, signature.kinds, strict=True)
        return any(kind is None and name in given and given[name].kind != TENSOR for name, kind in kinds)

    def _chosen(
        self,
        signature: Signature,
        overloads: Sequence[Any],
        arguments: Arguments,
        tree: ast.Call,
        name: str,
        method: bool = False,
    ) -> Signature:
        """Return the signature of the overload that a call goes with."""
        for one in overloads:
            other = self.signature(one, method)
            given = [*arguments.things, *arguments.keywords.values()]
            if len(given) > len(other.names) or not all(isinstance(item, Item) for item in given):
                continue
            places = dict(zip(other.names, arguments.things, strict=False)) | arguments.keywords
            if all(key in other.names and fits(other.kind(key), item.kind) for key, item in places.items()):
                return Signature(signature.tree, signature.source, signature.around, signature.names, other.kinds,
                                 {**signature.defaults, **other.defaults}, other.result)  # fmt: skip
        raise self.error(tree, f"no overload of {name} takes these arguments")

    def _called(self, function: Any, signature: Signature, given: dict[str, Any], name: str) -> Item:
        """Call a function as one of the graph."""
        key = (function, signature.kinds)
        if key not in self.compiled:
            self.compiled[key] = self._compiled(signature, name)
        made, kind = self.compiled[key]
        operands = tuple(self.narrow(given[one]).operand for one in signature.names)
        changed = {value for node, _ in walk(made) for value in node.writes}
        writes = tuple(
            dict.fromkeys(
                value
                for own, operand in zip(made.inputs, operands, strict=True)
                if own in changed
                for value in values_in(operand)
            )
        )
        if not made.single:
            types = tuple(operand_type(one) for one in made.outputs)
            if len(types) != 1:
                if not types:
                    return Item((), kind)
                found = self.emit(made, operands, kind, types=types, writes=writes)
                return Item(tuple(found.operand), kind)
            return self.emit(made, operands, kind, types=(TupleType(types),), writes=writes)
        found = self.emit(made, operands, kind, types=(operand_type(made.outputs[0]),), writes=writes)
        return Item(found.operand[0], kind)

    def _compiled(self, signature: Signature, name: str) -> tuple[SubGraph, Type]:
        function = SubGraph(name=self.fresh(name))
        outer = self.place, self.names, self.block, self.tree
        self.place = Place(signature.source, signature.around, name, (), signature.result, outer=self.place)
        self.names, self.block = {}, function
        try:
            self.take_inputs(function, signature)
            item = self._body(signature)
        finally:
            self.place, self.names, self.block, self.tree = outer
        give(function, item)
        self.graph.functions[function.name] = function
        return function, item.kind

    def take_inputs(self, function: SubGraph, signature: Signature) -> None:
        """Let the names of the arguments stand for the inputs of a function of the graph."""
        for name in signature.names:
            kind = signature.kind(name)
            value = Value(self.fresh(name), lowered(kind))
            function.inputs.append(value)
            self.assign(name, Item(value, kind), kind)

    def begin(self, signature: Signature, name: str) -> None:
        """Begin the function that is the graph."""
        if signature.rest:
            raise signature.source.error(
                signature.tree, "Compiled functions can't take variable number of arguments",
                "Take a list, or write the arguments one by one",
            )  # fmt: skip
        self.place = Place(signature.source, signature.around, name, (), signature.result)

    def function_graph(self, function: Any) -> tuple[Signature, Type]:
        """Write a function as the graph."""
        signature = self.signature(function)
        self.open.append(function)
        self.begin(signature, signature.tree.name)
        self.take_inputs(self.graph, signature)
        item = self._body(signature)
        give(self.graph, item)
        return signature, item.kind

    def _unused(self, name: str, function: Any, method: bool = False) -> Item:
        self.thrown("RuntimeError", f"{name} is marked as unused, and was called from a script")
        kind = self.signature(function, method).result
        return Item(None, NONE) if kind is None else self.emit("wb.graph.narrow", (None,), kind)

    def _traced(self, function: ScriptFunction, arguments: Arguments, tree: ast.Call) -> Item:
        """Call what was traced: its graph is kept whole, with what it holds."""
        boundary = function._boundaries.get("forward")
        kinds = [operand_type(one) for one in function.graph.outputs]
        kinds = [TENSOR if isinstance(one, TensorType) else one for one in kinds]
        kind = kinds[0] if function.graph.single else TupleType(tuple(kinds))
        name = self.graph.fresh(function.name)
        self.graph.held_functions[name] = function
        inputs, params = self.operands(arguments, tree)
        return self.emit(
            HeldFunction(name),
            tuple(one.operand for one in inputs),
            kind if boundary is None else boundary.result,
            **{key: one.operand for key, one in params.items()},
        )

    def _held(self, function: Any, arguments: Arguments, tree: ast.Call, bound: Any = None) -> Item:
        """Call a function that runs as Python: the graph holds it."""
        signature = self.signature(function, method=bound is not None)
        given = self.bound(signature, arguments, tree, function.__name__)
        kind = signature.result or TENSOR
        name = self.graph.fresh(function.__name__)
        self.graph.held_functions[name] = function if bound is None else bound
        operands = tuple(self.as_item(given[one], tree).operand for one in signature.names)
        return self.emit(HeldFunction(name), operands, kind)


def give(function: SubGraph, item: Item) -> None:
    """Let a function of the graph return an item."""
    several = isinstance(item.operand, tuple)
    function.single = not several
    function.outputs = item.operand if several else (item.operand,)


def _kind_of(thing: Any) -> Type | None:
    return thing.kind if isinstance(thing, Item) else None
