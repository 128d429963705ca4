"""`Node`: a value of a graph under PyTorch's words, and the call that makes it.

The call is a node of the house's own graph (`workbench.graph.Node`), and the operands in it are the house's values.
What stands here is a handle on it: `args` and `kwargs` are read from it and written through to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from workbench.base.public import words
from workbench.core.op import Op
from workbench.fx.immutable_collections import immutable_dict, immutable_list
from workbench.fx.naming import qualified_name, type_name
from workbench.graph import GraphError, HeldFunction, LeafModule, Value, named
from workbench.graph import Node as Call
from workbench.graph.blocks import values_in
from workbench.graph.types import ANY
from workbench.graph.vocabulary import named_for

if TYPE_CHECKING:
    from workbench.fx.graph import Graph

__all__ = ["Node", "NodeValue", "has_side_effect", "map_aggregate", "map_arg"]

CALLS = frozenset({"call_function", "call_method", "call_module"})
OPCODES = CALLS | {"get_attr", "output", "placeholder", "root"}

_side_effects: set[Any] = set()


def has_side_effect(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have no call of `function` taken for dead code, and return it."""
    _side_effects.add(function)
    return function


class NodeValue(Value):
    """The value of a node: what operands of other calls are."""

    def __init__(self, name: str, of: Node) -> None:
        super().__init__(name, ANY)
        self.of = of


class Node:
    """One node of an `fx.Graph`: an input, something held, a call, or the output.

    >>> import workbench as wb
    >>> graph = wb.fx.symbolic_trace(lambda x: x.relu() + 1).graph
    >>> [(node.op, node.name, node.args) for node in graph.nodes]
    [('placeholder', 'x', ()), ('call_method', 'relu', (x,)), ('call_function', 'add', (relu, 1)), ('output', ...
    >>> graph.output_node().args[0].format_node()
    '%add : [num_users=1] = call_function[target=operator.add](args = (%relu, 1), kwargs = {})'
    """

    __slots__ = (
        "__weakref__", "_call", "_erased", "_next", "_op", "_prev", "_target", "graph", "meta", "place", "type",
        "users", "value",
    )  # fmt: skip

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        self.graph = graph
        self.type = return_type
        """Annotation of what it gives, as it is printed."""
        self.meta: dict[str, Any] = {}
        """What passes note of it."""
        self.users: dict[Node, None] = {}
        """The nodes that read it, in the order in which they came to do so."""
        self.place: tuple[str, int] | None = None
        """File and line of the program that made it."""
        self.value = NodeValue(name, self)
        """What it gives, as a value of the house's graph."""
        self._op = op
        self._target = target
        self._erased = False
        self._prev = self._next = self
        # Of an input, of what is held and of the output it has the operands, and is no node of the house's graph.
        self._call = Call(None, (), {}, (self.value,))
        self._call.inputs = tuple([_inward(one) for one in args])
        self._call.params = {key: _inward(one) for key, one in kwargs.items()} if kwargs else {}
        self._read()
        self._called()

    # ------------------------------------------------------------------------------------------- the call

    @property
    def call(self) -> Call | None:
        """The node of the house's graph that this is; None for an input, what is held, and the output."""
        return self._call if self._op in CALLS else None

    def _called(self) -> None:
        """Bring the callee along with `op` and `target`."""
        self._call.callee = callee_of(self._op, self._target) if self._op in CALLS else None
        self.value.node = self._call if self._op in CALLS else None

    def _read(self) -> None:
        """Enter this node among the users of what it reads."""
        call = self._call
        for one in call.inputs:
            # Nearly all operands are values or numbers: the rest is gone through.
            if type(one) is NodeValue:
                one.of.users[self] = None
            elif isinstance(one, _NESTED):
                for value in values_in(one):
                    value.of.users[self] = None  # type: ignore[attr-defined]
        if call.params:
            for value in values_in(call.params):
                value.of.users[self] = None  # type: ignore[attr-defined]

    def _write(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        for value in self._call.values:
            value.of.users.pop(self, None)  # type: ignore[attr-defined]
        self._call.inputs, self._call.params = inputs, params
        # What was seen of its result was of the call as it was.
        self.value.type = ANY
        self._read()

    @property
    def op(self) -> str:
        """What kind of node it is: ``placeholder``, ``get_attr``, ``call_function``, ``call_method``, …"""
        return self._op

    @op.setter
    def op(self, op: str) -> None:
        if op not in OPCODES:
            raise ValueError(f"{op!r} is no kind of node: there are {', '.join(sorted(OPCODES - {'root'}))}")
        self._op = op
        self._called()

    @property
    def target(self) -> Any:
        """What is called, or held: a function, or the name of a method, a module, an attribute or an argument."""
        return self._target

    @target.setter
    def target(self, target: Any) -> None:
        self._target = target
        self.value.type = ANY
        self._called()

    @property
    def name(self) -> str:
        """What it is called, once in the graph."""
        return self.value.name

    @name.setter
    def name(self, name: str) -> None:
        self.value.name = name

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.value.name = self.graph._names.take(candidate)

    @property
    def args(self) -> tuple[Any, ...]:
        """Operands by position; a change is an assignment."""
        return tuple([_outward(one) for one in self._call.inputs])

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._write(tuple([_inward(one) for one in args]), self._call.params)

    @property
    def kwargs(self) -> dict[str, Any]:
        """Operands by keyword; a change is an assignment."""
        return immutable_dict({key: _outward(one) for key, one in self._call.params.items()})

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._write(self._call.inputs, {key: _inward(one) for key, one in kwargs.items()})

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes that it reads, each once."""
        return list(dict.fromkeys(value.of for value in self._call.values))  # type: ignore[attr-defined]

    @property
    def _input_nodes(self) -> dict[Node, None]:
        return dict.fromkeys(self.all_input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Put `arg` in the place of the operand at position `idx`."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Put `arg` in front of the operand at position `idx`."""
        if not 0 <= idx <= len(self._call.inputs):
            raise ValueError(f"insert_args index must be between 0 and {len(self._call.inputs)}, got {idx}")
        args = self.args
        self.args = (*args[:idx], arg, *args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Put `arg` in the place of the operand called `key`."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Read `new_input` wherever this node reads `old_input`."""
        self._change(lambda node: new_input if node is old_input else node)

    def _change(self, other: Callable[[Node], Any]) -> None:
        args = tuple([map_arg(one, other) for one in self.args])
        kwargs = {key: map_arg(one, other) for key, one in self.kwargs.items()}
        self._write(tuple([_inward(one) for one in args]), {key: _inward(one) for key, one in kwargs.items()})

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the users of this node read `replace_with`, those for which `delete_user_cb` says so; return them.

        With `propagate_meta` what is noted of this node is noted of the other, which may have nothing noted yet.
        """
        if propagate_meta:
            if replace_with.meta:
                raise ValueError(
                    f"Called node.replace_all_uses_with(replace_with, propagate_meta=True), but {replace_with.name} "
                    "already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        users = list(self.users)
        wanted = [user for user in users if delete_user_cb(user)]
        for user in wanted:
            user.replace_input_with(self, replace_with)
        return wanted

    # ------------------------------------------------------------------------------------------ its place

    @property
    def next(self) -> Node:
        """The node that comes after it; after the last one the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node that comes before it; before the first one the graph's root."""
        return self._prev

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Bring `x` to the place in front of this node."""
        if x.graph is not self.graph:
            raise AssertionError(
                f"Attempting to move a Node into a different Graph: {x.name} is a node of another; "
                "graph.node_copy(node, …) copies it"
            )
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x: Node) -> None:
        """Bring `x` to the place behind this node."""
        self._next.prepend(x)

    # ------------------------------------------------------------------------------------------- what it is

    @property
    def stack_trace(self) -> str | None:
        """Where the program made it, if the tracer was to note that."""
        found: str | None = self.meta.get("stack_trace")
        return found

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Say whether it must stay although nobody reads it: inputs, the output, assertions, and what writes."""
        if self._op in ("placeholder", "output"):
            return True
        if self._op == "call_function":
            name = getattr(self._target, "__name__", "")
            return self._target in _side_effects or name == "_assert" or _writes(self)
        if self._op == "call_method":
            return _writes(self)
        if self._op == "call_module":
            module = self.graph._owned(self._target)
            # A module that is not known could do anything.
            return module is None or bool(getattr(module, "is_impure", False))
        return False

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None
    ) -> str | None:
        """Return the node as a line of text."""
        kind = "" if self.type is None else f"{type_name(self.type)} "
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self._op}"
        if self._op == "placeholder":
            default = f"(default={self.args[0]})" if self._call.inputs else ""
            if placeholder_names is not None:
                placeholder_names.append(f"%{self.name}")
            return f"{head}[target={self._target}]{default}"
        if self._op == "get_attr":
            return f"{head}[target={self._target}]"
        if self._op == "output":
            if self.type is not None and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_name(self.type)}"
            return f"return {self.args[0]}" if self._call.inputs else "return"
        target = self._target if isinstance(self._target, str) else qualified_name(self._target)
        return f"{head}[target={target}](args = {_shown(self.args)}, kwargs = {_shown(self.kwargs)})"

    def __repr__(self) -> str:
        return self.value.name


def _shown(operand: Any) -> str:
    if isinstance(operand, Node):
        return f"%{operand.name}"
    if isinstance(operand, tuple):
        inner = ", ".join(map(_shown, operand))
        return f"({inner},)" if len(operand) == 1 else f"({inner})"
    if isinstance(operand, list):
        return f"[{', '.join(map(_shown, operand))}]"
    if isinstance(operand, dict):
        return f"{{{', '.join(f'{key}: {_shown(one)}' for key, one in operand.items())}}}"
    return str(operand)


_WRITING = frozenset(
    {
        "setitem", "delitem", "iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow",
        "irshift", "isub", "itruediv", "ixor",
    }
)  # fmt: skip


def _writes(node: Node) -> bool:
    """Say whether a call changes what it is given: by its name, by ``out=``, or by ``inplace=True``."""
    target = node.target
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    named_so = name.endswith("_") and not name.startswith("_") and name not in ("and_", "or_", "not_", "is_")
    params = node._call.params
    return named_so or name in _WRITING or params.get("out") is not None or params.get("inplace") is True


def callee_of(op: str, target: Any) -> Any:
    """Return what a node of PyTorch's vocabulary calls, as a callee of the house's graph."""
    if op == "call_module":
        return LeafModule(str(target))
    if op == "call_method":
        return _method(str(target))
    if isinstance(target, Op):
        return target
    return (named_for(target) if callable(target) else None) or HeldFunction(qualified_name(target))


_METHODS: dict[str, Any] = {}


def _method(name: str) -> Any:
    """Return a method by its name: of tensors, or of whatever value the program has there."""
    if name not in _METHODS:
        try:
            _METHODS[name] = named(f"Tensor.{name}")
        except GraphError:
            _METHODS[name] = HeldFunction(f"method.{name}")
    return _METHODS[name]


# --------------------------------------------------------------------------------------------- operands

_NESTED = (tuple, list, dict, slice)


def _inward(operand: Any) -> Any:
    """Return an operand with the values of nodes in the place of nodes."""
    if type(operand) is Node:
        return operand.value
    if isinstance(operand, _NESTED):
        return _rebuilt(operand, _inward, list, dict)
    return operand


def _outward(operand: Any) -> Any:
    """Return an operand with nodes in the place of their values."""
    if type(operand) is NodeValue:
        return operand.of
    if isinstance(operand, _NESTED):
        return _rebuilt(operand, _outward, immutable_list, immutable_dict)
    return operand


def _rebuilt(
    operand: Any,
    other: Callable[[Any], Any],
    make_list: Callable[[Any], Any],
    make_dict: Callable[[Any], Any],
) -> Any:
    if isinstance(operand, tuple):
        parts = [other(one) for one in operand]
        # A named tuple takes its fields one by one; a size is a tuple of numbers, and stays one.
        return type(operand)(*parts) if hasattr(operand, "_fields") else tuple(parts)
    if isinstance(operand, list):
        return make_list([other(one) for one in operand])
    if isinstance(operand, dict):
        return make_dict({key: other(one) for key, one in operand.items()})
    return slice(other(operand.start), other(operand.stop), other(operand.step))


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Return an operand with what `fn` gives in the place of all that is no tuple, list, dict or slice.

    >>> map_aggregate((1, [2, {"a": 3}]), lambda one: one * 10)
    (10, [20, {'a': 30}])
    """
    if isinstance(a, _NESTED):
        return _rebuilt(a, lambda one: map_aggregate(one, fn), immutable_list, immutable_dict)
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Return an operand with what `fn` gives in the place of nodes."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda one: fn(one) if isinstance(one, Node) else one)


def nodes_in(operand: Any) -> Iterator[Node]:
    """Yield the nodes in an operand, in order."""
    for value in values_in(_inward(operand)):
        yield value.of  # type: ignore[attr-defined]


__getattr__, __dir__ = words(__name__, __all__)
