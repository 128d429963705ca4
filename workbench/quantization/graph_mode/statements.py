"""What each node of a graph does to codes: found by running it once, and asking the table of each op that it called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from workbench.base.dtypes import DType, dtype_of, float32, quint8
from workbench.base.errors import DTypeError, QuantizationError
from workbench.base.quantized_array import QuantizedArray
from workbench.core import dispatch
from workbench.core.absent import Absent
from workbench.core.op import Op, ops
from workbench.core.stack import interpreting
from workbench.core.value import Value
from workbench.fx import GraphModule, Interpreter, Node
from workbench.fx.node import map_aggregate
from workbench.ops.quantized.quantize import QUANTIZE_PER_TENSOR
from workbench.quantization.graph_mode.own_numbers import brings_numbers
from workbench.quantization.mappings import WEIGHTED

__all__ = ["CUSTOM", "Call", "Statement", "statements"]

CUSTOM = "custom"
"""Under which name a node's meta says how the module is quantized that a configuration has for it."""


@dataclass(frozen=True)
class Call:
    """The one op that a node calls, with its parameters, and which of the node's inputs are the op's, in its order."""

    op: str
    params: dict[str, Any]
    inputs: tuple[int, ...]


@dataclass(frozen=True)
class Statement:
    """How a node takes codes.

    `way` is ``layer`` (swapped for an integer layer), ``native`` (called with codes as it is), ``computed`` (between
    dequantizing and quantizing), ``custom`` (a module of people's own that takes and gives codes), ``float`` (it takes
    no codes) or ``other`` (it gives no floating point tensor).
    """

    way: str
    travels: str = "own"
    ops: tuple[str, ...] = ()
    floating: bool = True
    """True where its result is a floating point tensor, or several."""
    single: bool = True
    """False where its result is several values."""
    border: bool = False
    """True for an input that the converted graph takes as codes."""
    brings: bool = False
    """True where its result may lie beyond the range of what it takes, by numbers of its own."""
    call: Call | None = None
    """What is computed, where it is one op of nothing but the node's inputs."""


class _Listed:
    """Notes the ops that are called, and calls them."""

    def __init__(self) -> None:
        self.calls: list[tuple[Op, tuple[Any, ...], dict[str, Any]]] = []

    @property
    def found(self) -> list[Op]:
        """The ops, in order."""
        return [op for op, _, _ in self.calls]

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Note an op, and apply it."""
        self.calls.append((op, inputs, params))
        return dispatch.apply(op, *inputs, **params)


class _Run(Interpreter):
    """Runs a graph and keeps what each node called and gave."""

    def __init__(self, module: GraphModule, inputs: tuple[Any, ...]) -> None:
        super().__init__(module)
        self.said: dict[Node, Statement] = {}
        self._numbers = _type_of_numbers(module, inputs)
        self._several: set[Node] = set()

    def run_node(self, n: Node) -> Any:
        """Run one node."""
        listed = _Listed()
        with interpreting(listed):
            result = super().run_node(n)
        # A shape is several numbers, and no values.
        if isinstance(result, tuple | list) and any(isinstance(one, Value) for one in result):
            self._several.add(n)
        said = self._statement(n, listed.found, result)
        if said.way == "computed" and len(listed.calls) == 1:
            said = replace(said, call=self._call(n, *listed.calls[0]))
        if said.way == "native" and any(brings_numbers(*call) for call in listed.calls):
            # Of several values none can be observed by itself.
            one_value = isinstance(result, Value)
            said = replace(said, brings=True) if one_value else Statement("float", ops=said.ops)
        elif said.way == "native":
            said = replace(said, single=isinstance(result, Value))
        self.said[n] = said
        return result

    def _call(self, node: Node, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Call | None:
        given = [self.env[one] for one in node.all_input_nodes]
        places = [next((i for i, own in enumerate(given) if own is one), -1) for one in inputs]
        return None if -1 in places else Call(op.name, params, tuple(places))

    def _statement(self, node: Node, ops: list[Op], result: Any) -> Statement:
        names = tuple(op.name for op in ops)
        floating, single = self._is_floating(result), isinstance(result, Value)
        if node.op in ("placeholder", "get_attr", "output"):
            return Statement("float", floating=floating and node.op != "output")
        if not floating and not ops:
            return Statement("other" if self._is_the_same_of_codes(node, result) else "float", floating=False)
        if CUSTOM in node.meta:
            return Statement("custom" if node.meta[CUSTOM] != "DYNAMIC" else "float", "own", names, floating)
        if node.op == "call_module" and type(self.submodules[str(node.target)]) in WEIGHTED:
            return Statement("layer", "weighted", names, floating)
        if not floating:
            return Statement("float", ops=names, floating=False)
        # What is made of sizes and numbers has no codes of its own: those of another may not reach it.
        if not ops and not self._is_given(node, result):
            return Statement("float")
        travels = _together(ops)
        if travels is None or not _takes_values(node, self.said) or self._picks_float(node):
            return Statement("float", ops=names)
        if travels == "own" or not all(callable(op.quantized.codes) for op in ops):  # type: ignore[union-attr]
            return Statement("computed" if single else "float", "own", names)
        if not self._takes_codes(node):
            return Statement("computed" if single else "float", "own", names)
        return Statement("native", travels, names)

    def _is_the_same_of_codes(self, node: Node, result: Any) -> bool:
        """Say whether what is asked of values is the same of codes, as a size or a shape; a type is not."""
        if _values(result) or not _takes_values(node, self.said):
            return True
        found = self._called_with_codes(node)
        return type(found) is type(result) and bool(found == result)

    def _is_given(self, node: Node, result: Any) -> bool:
        """Say whether all values of a result are among those that a node takes."""
        given = {id(one.payload) for before in node.all_input_nodes for one in _values(self.env[before])}
        return all(id(one.payload) in given for one in _values(result))

    def _picks_float(self, node: Node) -> bool:
        """Say whether a node picks one of several values that are no codes: it is the first that can be observed."""
        return any(one in self._several and self.said[one].way != "native" for one in node.all_input_nodes)

    def _takes_codes(self, node: Node) -> bool:
        """Call a node with codes: what it does between its ops may ask for types that codes are not.

        What the model holds stays in floating point, as in the converted graph.
        """

        result = self._called_with_codes(node)
        several = result if isinstance(result, tuple | list) else (result,)
        return all(isinstance(one, Value) and isinstance(one.payload, QuantizedArray) for one in several)

    def _called_with_codes(self, node: Node) -> Any:
        """Return what a node makes of codes; None where it takes none."""

        def given(one: Any) -> Any:
            if not isinstance(one, Node):
                return one
            held = self.env[one]
            return held if one.op == "get_attr" else map_aggregate(held, self._coded)

        args, kwargs = map_aggregate(node.args, given), map_aggregate(node.kwargs, given)
        try:
            return getattr(self, node.op)(node.target, args, kwargs)
        except (DTypeError, QuantizationError):
            return None

    def _coded(self, one: Any) -> Any:
        """A floating point tensor as codes under some scale."""
        if not self._is_floating(one) or not isinstance(one, Value):
            return one
        values = ops.to(one, dtype=float32.numpy)
        return QUANTIZE_PER_TENSOR(values, scale=0.1, zero_point=0, qmin=0, qmax=255, dtype=quint8)

    def _is_floating(self, result: Any) -> bool:
        """Say whether codes can stand for a value, or for several: what has another type on purpose keeps it."""
        if isinstance(result, tuple | list):
            return bool(result) and all(self._is_floating(one) for one in result)
        return isinstance(result, Value) and dtype_of(result.payload) is self._numbers


def _values(given: Any) -> list[Value]:
    """Return the values in tuples, lists and dicts."""
    found: list[Value] = []
    map_aggregate(given, lambda one: found.append(one) if isinstance(one, Value) else None)
    return found


def _type_of_numbers(module: GraphModule, inputs: tuple[Any, ...]) -> DType:
    """Return the floating point type that a model computes in: that of its parameters, or where none are of its inputs.

    Codes stand for float32. A model may be watched in another type, and be made float32 before it is converted; one
    that has several types computes with values of the others where it says so.
    """
    given: list[Any] = [*module.parameters()]
    if not given:
        map_aggregate(inputs, lambda one: given.append(one) if isinstance(one, Value) else None)
    found = {dtype_of(one.payload) for one in given}
    numbers = [one for one in found if one.is_floating_point]
    return numbers[0] if len(numbers) == 1 else float32


def _together(ops: list[Op]) -> str | None:
    """Return how scale and zero point pass through several ops in a row; None where they do not."""
    found = []
    for op in ops:
        if isinstance(op.quantized, Absent) or op.quantized.travels == "ends":
            return None
        found.append(op.quantized.travels)
    special = [travels for travels in found if travels != "same"]
    if not special:
        return "same"
    # Behind a fixed range others may only move values.
    return special[0] if len(special) == 1 and special[0] in ("fixed", "joined") else "own"


def _takes_values(node: Node, said: dict[Node, Statement]) -> bool:
    return any(said[one].floating for one in node.all_input_nodes if one in said and one.op != "get_attr")


def statements(module: GraphModule, inputs: tuple[Any, ...]) -> dict[Node, Statement]:
    """Return what each node of a graph does to codes, found by running it once on `inputs`."""
    run = _Run(module, inputs)
    training = module.training
    # Statistics of batches are not to move by this.
    module.eval()
    try:
        with dispatch.no_grad():
            run.run(*inputs)
    finally:
        module.train(training)
    return run.said
