"""What a graph writes into its values becomes new values: codes are made of a value as it is where it is read."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.core.value import Value
from workbench.fx import GraphModule, Interpreter, Node
from workbench.nn import functional
from workbench.tensor import Tensor
from workbench.tensor.factories import full_like

__all__ = ["FirstRun", "without_writes"]

_NEW = {
    getattr(operator, f"i{name}"): getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor")
    if hasattr(operator, f"i{name}")
} | {operator.iand: operator.and_, operator.ior: operator.or_, operator.ixor: operator.xor}
"""What makes a new value in the place of what writes into its first."""


for _name in ("celu", "elu", "hardtanh", "leaky_relu", "relu", "selu", "threshold"):
    _NEW[getattr(functional, f"{_name}_")] = getattr(functional, _name)

CAST = "cast"
"""Under which name a node's meta says that what it copies has another type than what it writes into."""


class FirstRun(Interpreter):
    """Runs a graph, and keeps how many dims each value has and which node writes into which."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.dims: dict[Node, int] = {}
        self.writes: list[tuple[Node, Node]] = []
        self._places = {node: place for place, node in enumerate(self.graph.nodes)}

    def run_node(self, n: Node) -> Any:
        """Run one node."""
        before = {one: self.env[one]._version for one in n.all_input_nodes if _is_tensor(self.env[one])}
        result = super().run_node(n)
        self.dims[n] = getattr(result, "ndim", 0)
        for one, version in before.items():
            if self.env[one]._version != version and one.op != "get_attr":
                self._note(n, one, result)
        return result

    def _note(self, n: Node, written: Node, result: Any) -> None:
        """Note a write; raise `QuantizationError` where what was written is read by another name, too."""
        array = self.env[written].payload
        others = [
            one
            for one, value in self.env.items()
            if one is not written
            and any(self._places[user] > self._places[n] for user in one.users)
            and any(_shares(part, array) for part in _tensors(value))
        ]
        read = any(self._places[user] > self._places[n] for user in written.users)
        if others or (read and not _same(result, self.env[written])):
            raise QuantizationError(
                f"{n.format_node()} writes into {written.name}, and {(others or [written])[0].name} shares its memory "
                "and is read behind it: codes share none with the values that they are made of. Write what gives a "
                "new tensor, as x = torch.cat(…), torch.where(…) or x.slice_scatter(…)"
            )
        if n.target == "copy_":
            types = {self.env[one].dtype for one in n.all_input_nodes}
            n.meta[CAST] = len(types) > 1
        self.writes.append((n, written))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and type(value.payload) is np.ndarray


def _tensors(value: Any) -> list[Any]:
    several = value if isinstance(value, tuple | list) else (value,)
    return [one for one in several if _is_tensor(one)]


def _shares(tensor: Any, array: Any) -> bool:
    return bool(np.may_share_memory(tensor.payload, array))


def _same(result: Any, written: Any) -> bool:
    return isinstance(result, Value) and (result is written or result.payload is written.payload)


def without_writes(module: GraphModule, writes: list[tuple[Node, Node]]) -> None:
    """Have what is read behind a write read the node that wrote, in place, and that node make a new value.

    What was written under another name was refused when the graph ran.
    """
    places = {node: place for place, node in enumerate(module.graph.nodes)}
    for node, written in writes:
        for user in [*written.users]:
            if user is not node and places[user] > places[node]:
                user.replace_input_with(written, node)
        _make_new(module, node)
    if writes:
        module.recompile()


def _make_new(module: GraphModule, node: Node) -> None:
    """Have a node that writes into its first input give what it would write, in place."""
    word = str(node.target)
    if node.op == "call_function":
        node.target = _NEW.get(node.target, node.target)
        if node.kwargs.get("inplace") is True:
            node.kwargs = {**node.kwargs, "inplace": False}
    elif node.op == "call_method" and hasattr(Tensor, word.removesuffix("_")):
        node.target = word.removesuffix("_")
    elif node.op == "call_method" and word in ("fill_", "zero_"):
        value = 0.0 if word == "zero_" else node.args[1] if len(node.args) > 1 else node.kwargs["value"]
        node.op, node.target, node.args, node.kwargs = "call_function", full_like, (node.args[0], value), {}
    elif node.op == "call_method" and word == "copy_":
        written = node.args[0]
        source = node.args[1] if len(node.args) > 1 else node.kwargs["src"]
        if node.meta.pop(CAST, False):
            with module.graph.inserting_before(node):
                source = module.graph.call_method("type_as", (source, written))
        node.target, node.args, node.kwargs = "expand_as", (source, written), {}
