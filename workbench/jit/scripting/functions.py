"""Functions: their arguments, their results, and calls of one another."""

from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.graph import Graph, HeldFunction, SubGraph, Value
from workbench.graph.blocks import operand_type, values_in
from workbench.graph.types import ANY, BOOL, NONE, TENSOR, ListType, OptionalType, TensorType, TupleType, Type
from workbench.graph.walk import walk
from workbench.jit import guards
from workbench.jit.kinds import (
    FutureKind,
    Item,
    RecordKind,
    UnionKind,
    fits,
    joined,
    lowered,
    optional,
    shown,
)
from workbench.jit.script_modules import ScriptFunction
from workbench.jit.scripting.annotations import Annotations
from workbench.jit.scripting.builder import RESULT, Flow, Place, Variable
from workbench.jit.scripting.calls import Arguments, Calls
from workbench.jit.scripting.conditions import Refined
from workbench.jit.scripting.declared import result_kind
from workbench.jit.scripting.errors import ScriptError, Source
from workbench.jit.scripting.names import assigned_in
from workbench.jit.scripting.source import function_tree, names_around
from workbench.jit.scripting.things import Many, Nested

__all__ = ["Functions", "Signature", "give", "signature_of"]

_DEEPEST = 48
"""Functions that call one another: what goes deeper calls itself, by way of others."""


@dataclass(frozen=True)
class Signature:
    """What a function takes and gives, as its annotations say."""

    tree: ast.FunctionDef
    source: Source
    around: Mapping[str, Any]
    names: tuple[str, ...]
    kinds: tuple[Type | None, ...]
    """None where nothing is annotated."""
    defaults: Mapping[str, Any]
    result: Type | None
    rest: str = ""
    """The name of what takes any number of arguments."""

    def kind(self, name: str) -> Type:
        """Return the type of an argument: a tensor where nothing says another."""
        found = self.kinds[self.names.index(name)]
        return TENSOR if found is None else found


def signature_of(
    tree: ast.FunctionDef,
    source: Source,
    around: Mapping[str, Any],
    defaults: Mapping[str, Any],
    method: bool,
) -> Signature:
    """Read the arguments of a function. `method` says whether the first is ``self``, which is left out."""
    read = Annotations(source, around)
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs][1 if method else 0 :]
    if tree.args.kwarg is not None:
        raise source.error(
            tree.args.kwarg, "Compiled functions can't take variable number of arguments or use keyword-only arguments "
            "with defaults", "Write the arguments one by one",
        )  # fmt: skip
    comment = _type_comment(tree, source, read)
    kinds: list[Type | None] = [
        None if one.annotation is None else read.kind(one.annotation) for one in arguments
    ]
    result = None if tree.returns is None else read.kind(tree.returns)
    if comment is not None:
        said, result = comment
        if len(said) != len(arguments):
            raise source.error(
                tree, f"the type comment has {len(said)} types, and there are {len(arguments)} arguments"
            )
        kinds = list(said)
    house = str(around.get("__name__", "")).startswith("workbench.")
    names = tuple(one.arg for one in arguments)
    if house:
        # The house's own models take anything that is a tensor, with names or without.
        kinds = [TENSOR if one == ANY else one for one in kinds]
        kinds = [
            optional(kind) if kind is not None and name in defaults and defaults[name] is None else kind
            for name, kind in zip(names, kinds, strict=True)
        ]
        result = None if result == ANY else result
    rest = tree.args.vararg.arg if tree.args.vararg is not None else ""
    return Signature(tree, source, around, names, tuple(kinds), defaults, result, rest)


def _type_comment(tree: ast.FunctionDef, source: Source, read: Annotations) -> tuple[list[Type], Type] | None:
    """Read ``# type: (int, Tensor) -> Tensor`` between the head and the body of a function."""
    last = tree.body[0].lineno
    for line in source.lines[tree.lineno - 1 : last]:
        _, mark, text = line.partition("# type:")
        inside, arrow, result = text.partition("->")
        if mark and arrow and inside.strip().startswith("("):
            parts = ast.parse(inside.strip(), mode="eval").body
            several = (
                parts.elts if isinstance(parts, ast.Tuple) else [parts] if inside.strip() != "()" else []
            )
            given = ast.parse(result.strip(), mode="eval").body
            return [read.kind(one) for one in several], read.kind(given)
    return None


class Functions(Calls):
    """Compiles functions and calls of them."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.signatures: dict[Any, Signature] = {}
        self.compiled: dict[Any, tuple[SubGraph, Type]] = {}
        self.open: list[Any] = []
        """Functions that are being compiled."""

    # --------------------------------------------------------------------------------------- signatures

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

    # ------------------------------------------------------------------------------------------- inlining

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

    # -------------------------------------------------------------------------------------------- calling

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

    # --------------------------------------------------------------------------------- left to Python

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

    # ---------------------------------------------------------------------------------------- own words

    def call_word(self, value: Any, tree: ast.Call, wanted: Type | None) -> Any:
        """Read a call of one of this room's own words; None where it is none."""
        if value is guards.annotate or value is typing.cast:
            kind = self.annotations().kind(tree.args[0])
            return self.coerced(self.value(tree.args[1], kind), kind, tree.args[1], "what is annotated")
        if value is guards.is_scripting or value is guards.is_tracing:
            return Item(value is guards.is_scripting, BOOL)
        if value is guards.isinstance:
            return Item(self.condition(tree)[0], BOOL)
        if value is guards.fork:
            callee = self.expression(tree.args[0])
            call = ast.copy_location(
                ast.Call(func=tree.args[0], args=tree.args[1:], keywords=tree.keywords), tree
            )
            if isinstance(callee, Item):
                raise self.error(tree, "jit.fork takes a function")
            item = self.as_item(self.call(call, None), tree)
            return Item(item.operand, FutureKind(item.kind))
        if value is guards.wait:
            item = self.value(tree.args[0])
            return Item(item.operand, item.kind.item) if isinstance(item.kind, FutureKind) else item
        if value is guards._assert:
            test = ast.Assert(test=tree.args[0], msg=tree.args[1])
            self.statement(ast.copy_location(test, tree))
            return Item(None, NONE)
        return None

    def is_instance(self, tree: ast.expr, thing: ast.expr, classes: ast.expr) -> tuple[Any, Refined, Refined]:
        """Read ``isinstance(thing, classes)``: decided now where the type says it, else in the run."""
        read = self.annotations()
        parts = classes.elts if isinstance(classes, ast.Tuple | ast.List) else [classes]
        asked = [read.kind(one) for one in parts]
        found = self.expression(thing)
        if not isinstance(found, Item):
            known = getattr(found, "module", getattr(found, "value", None))
            kinds = tuple(
                one
                for part in parts
                if isinstance(one := getattr(self.expression(part), "value", None), type)
            )
            return isinstance(known, kinds), {}, {}
        options = _options(found.kind)
        yes = [one for one in options if any(_is(kind, one) for kind in asked)]
        no = [one for one in options if one not in yes]
        if found.kind == ANY:
            yes, no = asked, [ANY]
        if not no:
            return True, {}, {}
        if not yes:
            return False, {}, {}
        condition: Any = None
        for kind in yes:
            one = self.emit("wb.graph.holds", (found.operand, str(lowered(kind))), BOOL).operand
            condition = (
                one if condition is None else self.emit("operator.or_", (condition, one), BOOL).operand
            )
        names: tuple[Refined, Refined] = ({}, {})
        if isinstance(thing, ast.Name):
            names = ({thing.id: _one_of(yes)}, {thing.id: _one_of(no)})
        return (condition, *names)


def give(function: SubGraph, item: Item) -> None:
    """Let a function of the graph return an item."""
    several = isinstance(item.operand, tuple)
    function.single = not several
    function.outputs = item.operand if several else (item.operand,)


def _kind_of(thing: Any) -> Type | None:
    return thing.kind if isinstance(thing, Item) else None


def _options(kind: Type) -> list[Type]:
    if isinstance(kind, OptionalType):
        return [*_options(kind.item), NONE]
    return list(kind.options) if isinstance(kind, UnionKind) else [kind]


def _is(asked: Type, kind: Type) -> bool:
    """Say whether a value of a type is of the one that is asked for; a bare ``list`` asks for lists of anything."""
    if asked == ListType(TENSOR) and isinstance(kind, ListType):
        return True
    if isinstance(kind, RecordKind) and not isinstance(asked, RecordKind):
        return False
    return fits(asked, kind)


def _one_of(kinds: list[Type]) -> Type:
    rest = [one for one in kinds if one != NONE]
    whole = joined(rest) if len(rest) > 0 else NONE
    made = whole if whole is not None else UnionKind(tuple(rest))
    return optional(made) if len(rest) < len(kinds) and rest else made
