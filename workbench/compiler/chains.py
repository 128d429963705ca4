"""Elementwise functions as chains: code for an interpreter in C++ that goes over memory once.

A chain is what a fused function of the graph becomes: instructions on one accumulator and on slots (inputs, results,
constants, temporaries), each on a group of values at a time; see ``extensions/kernels/source/compiled/chain.hpp``.
Which ops there are stands in one table, `chain_steps.RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.base.size_expressions import Symbolic
from workbench.compiler.chain_slots import ChainCode, slotted
from workbench.compiler.chain_steps import RULES, Builder, NotAChain
from workbench.core.op import ops
from workbench.graph.blocks import Block, Node, Value
from workbench.graph.ir import Graph
from workbench.graph.types import INT, TensorType

__all__ = ["STORED", "chain_code", "has_rule", "type_name"]

COMPUTED = ("float32", "float64", "int32", "int64")
"""Types in which a chain computes."""
STORED = (*COMPUTED, "bool", "bfloat16")
"""Types of its inputs and results."""
_REAL = ("isinf", "isfinite")
"""Ops that are written with numbers that only real types have."""
_OF_TRUTH = ("bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor")
"""Ops that are written here for bool only."""
_TRUE_OF_ANY = (
    "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "logical_not", "logical_and", "logical_or",
    "logical_xor", "to", "clone", "where", *_OF_TRUTH,
)  # fmt: skip
"""Ops that may give bool; others of bool, such as a sum, have rules that are not those of numbers."""


def has_rule(node: Node) -> bool:
    """Say whether a node calls an op that a chain may have, in types that one computes in."""
    if node.op is None or node.op.name not in RULES or len(node.outputs) != 1:
        return False
    if node.op is ops.dropout and not _draws_each(node):
        return False
    return all(type_name(value) in STORED for value in (*node.values, *node.outputs))


def _draws_each(node: Node) -> bool:
    """Say whether each value of floats is dropped by a number of its own, which the seed of a run decides."""
    ndim = len(node.outputs[0].tensor.sizes)
    seed = isinstance(node.params["seed"], Value)
    return seed and tuple(node.params["drawn"]) == (0, ndim) and type_name(node.outputs[0]) == "float32"


def type_name(value: Value) -> str:
    """Return what the type of a tensor's values is called; of a seed that of whole numbers, of others its own."""
    kind = value.type
    if not isinstance(kind, TensorType):
        return "int64" if kind == INT else str(kind)
    return str(kind.dtype.name)


def _within(name: str) -> str:
    """Return the type in which values of a type are computed."""
    return "float32" if name == "bfloat16" else name


def chain_code(function: Block, number: Callable[[Symbolic], Any] | None = None) -> ChainCode:
    """Return the code of a function of elementwise ops: its inputs, then what the graph holds, are the chain's inputs.

    `number` says what the sizes are that stand among the operands. Raises `NotAChain` for what the interpreter cannot
    run, and says which op and why.

    >>> import workbench as wb
    >>> print(chain_code(wb.graph.trace(lambda x, y: (x * 2 + y).relu(), wb.ones(3), wb.ones(3))))
    load x0
    multiply_add c0 x1
    relu
    store y0
    """
    given = list(function.given()) if isinstance(function, Graph) else list(function.inputs)
    if isinstance(function, Graph) and (function.seeds or function.updates):
        raise NotAChain("the graph draws numbers or changes parameters")
    outputs = list(function.outputs)
    if not outputs or not all(isinstance(one, Value) for one in outputs):
        raise NotAChain("it returns something else than tensors")
    names = {value: _checked(value) for value in (*given, *(node.outputs[0] for node in function.nodes))}
    do = Builder(_type_of(function.nodes, names))
    steps = {value: do.input(i) for i, value in enumerate(given)}
    for node in function.nodes:
        steps[node.outputs[0]] = _written(do, node, steps, names, number)
    for value in given:
        _check_input(do.dtype, names[value], value)
    kinds = tuple(names[one] for one in given), tuple(names[one] for one in outputs)
    return slotted(do, [steps[one] for one in outputs], *kinds)


def _checked(value: Value) -> str:
    if not isinstance(value.type, TensorType) and value.type != INT:
        raise NotAChain(f"{value.name} is {value.type}, no tensor")
    name = type_name(value)
    if name not in STORED:
        raise NotAChain(f"{value.name} is {name}; a chain knows {', '.join(STORED)}")
    return name


def _type_of(nodes: Sequence[Node], names: dict[Value, str]) -> str:
    """Return the one type in which all of it is computed."""
    made = {_within(names[node.outputs[0]]) for node in nodes} - {"bool"}
    if not made:
        made = {_within(names[value]) for node in nodes for value in node.values} - {"bool"}
    if len(made) > 1:
        raise NotAChain(f"it computes in several types: {', '.join(sorted(made))}")
    return made.pop() if made else "float32"


def _check_input(dtype: str, name: str, value: Value) -> None:
    if dtype.startswith("int") and name not in (dtype, "bool", "int32", "int64"):
        raise NotAChain(f"{value.name} is {name} in a chain of {dtype}")


def _written(
    do: Builder,
    node: Node,
    steps: dict[Value, int],
    names: dict[Value, str],
    number: Callable[[Symbolic], Any] | None,
) -> int:
    """Write the steps of one node, and return that of its result."""
    op = node.op
    if op is None or op.name not in RULES or len(node.outputs) != 1 or node.blocks:
        raise NotAChain(f"{node.name} is no op that a chain has")
    if op is ops.dropout and not _draws_each(node):
        raise NotAChain(
            f"{node.name} drops others than values of float32 by a seed of the run, each for itself"
        )
    result = names[node.outputs[0]]
    _check_types(do.dtype, node, result, [names[value] for value in node.values])
    operands = [
        steps[one] if isinstance(one, Value) else do.constant(_number(node, one, number))
        for one in node.inputs
    ]
    params = {
        key: steps[one] if isinstance(one, Value) else _number(node, one, number)
        for key, one in node.params.items()
    }
    if op.name == "to" and result == "bool" and names[node.values[0]] != "bool":
        return do("ne", operands[0], 0.0)
    found = RULES[op.name](do, *operands, **params)
    moves = op.name in ("relu", "clone", "where", "neg", "abs") and result == _only(
        [names[v] for v in node.values]
    )
    return do("round_to_bfloat16", found) if result == "bfloat16" and not moves else found


def _only(names: list[str]) -> str:
    """Return the type of all that is no bool, empty where there are several."""
    found = set(names) - {"bool"}
    return found.pop() if len(found) == 1 else ""


def _number(node: Node, operand: Any, number: Callable[[Symbolic], Any] | None) -> Any:
    if isinstance(operand, Symbolic):
        if number is None:
            raise NotAChain(f"{node.name} reads the size {operand}, which is not known")
        return number(operand)
    return operand


def _check_types(dtype: str, node: Node, result: str, operands: list[str]) -> None:
    """Refuse what the interpreter would compute in another type than the op does."""
    assert node.op is not None
    name, kinds = node.op.name, {_within(one) for one in operands} - {"bool"}
    if name in _OF_TRUTH and (kinds or result != "bool"):
        raise NotAChain(f"{node.name} works on the bits of whole numbers")
    if name in _REAL and not dtype.startswith("float"):
        raise NotAChain(f"{node.name} asks of whole numbers what they never are")
    if result == "bool":
        if name not in _TRUE_OF_ANY:
            raise NotAChain(f"{node.name} computes with bool")
        # Numbers are compared, and asked for zero, as they are: rounded to another type they may be equal, or zero.
        if kinds - {dtype}:
            raise NotAChain(f"{node.name} compares {', '.join(sorted(kinds))} in a chain of {dtype}")
    if (
        name == "to"
        and not dtype.startswith("float")
        and any(one.startswith(("float", "bf")) for one in operands)
    ):
        raise NotAChain(f"{node.name} makes whole numbers of real ones")
