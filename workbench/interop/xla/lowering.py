"""A graph as one program of XLA: run once on stand-ins, which writes StableHLO, and from then on by XLA.

A graph is lowered for the sizes of its inputs, and once more for others, as far as its guards allow. What is decided by
numbers becomes XLA's own control flow. Seeds by which the graph draws, and numbers that are drawn, are inputs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from workbench.core.backend import backend_of
from workbench.core.dispatch import no_grad
from workbench.core.inplace import write
from workbench.core.op import Op
from workbench.core.value import Value as Tensor
from workbench.core.value import labelled, new
from workbench.graph import Block, Control, Graph, GraphError, NamedFunction, Node, TensorType, Value
from workbench.graph.arguments import taken_apart
from workbench.graph.interpreter import Run
from workbench.interop.xla.absent import ABSENT
from workbench.interop.xla.arrays import XlaArray, wide_types
from workbench.interop.xla.libraries import jax, jnp, lax

__all__ = ["XlaProgram"]


_NUMBERS = frozenset({"builtins.bool", "builtins.float", "builtins.int", "Tensor.item"})
"""Functions that ask a tensor for its number."""


class _Given(NamedTuple):
    """One input as a program sees it: of a tensor the shape, type and names, of anything else the thing itself."""

    shape: tuple[int, ...] | None
    dtype: Any
    names: Any
    value: Any = None


class XlaProgram:
    """A graph that XLA computes.

    Called as the graph is; it gives the same results within rounding, has no gradients, and what the graph says of
    its parameters (`Graph.updates`) is done. `text` shows what XLA is given. Several threads may call one.

    Raises what running the graph raises, and `GraphError` for what XLA cannot do: modules kept whole, a size that
    only a run knows, an op that asks for numbers.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._lock = threading.Lock()
        self._forms: dict[Any, Any] = {}
        """How results are put together, by what was given."""
        self._compiled = jax.jit(self._traced, static_argnums=0)

    def __call__(self, *inputs: Any, seeds: Mapping[str, Any] | None = None) -> Any:
        """Compute the graph on these inputs, and return its result, on the CPU."""
        key, arrays, drawn, written = self._given(inputs, seeds or {})
        with wide_types():
            found, changed = self._compiled(key, arrays, self._parameters(), drawn)
        result = _rebuilt(self._forms[key], iter([np.asarray(one) for one in found]))
        with no_grad():
            for value in self.graph.updates:
                write(
                    written[value.name] if value.name in written else self.graph.parameters[value],
                    "update",
                    partial(_instead, new(np.array(changed[value.name]))),
                )
        return result

    def text(self, *inputs: Any) -> str:
        """Return the program for inputs of these sizes: StableHLO, which XLA reads."""
        key, arrays, drawn, _ = self._given(inputs, {})
        with wide_types():
            return str(self._compiled.lower(key, arrays, self._parameters(), drawn).as_text())

    def _given(
        self, inputs: tuple[Any, ...], seeds: Mapping[str, Any]
    ) -> tuple[Any, list[Any], dict[str, Any], dict[str, Any]]:
        """Check what is given, as a run does, and draw what is to be drawn; say what of it is written into."""
        graph = self.graph
        given = taken_apart(graph.takes, inputs, graph.name) if graph.takes else inputs
        run = Run(graph)
        run.begin(given, seeds)
        key = tuple(map(_seen, given))
        try:
            hash(key)
        except TypeError:
            raise GraphError(
                f"{graph.name} takes lists or dicts as they are, which XLA does not: trace a function of them, whose "
                "graph takes their tensors"
            ) from None
        arrays = [_numbers(one) for one in given if isinstance(one, Tensor)]
        drawn = {value.name: _numbers(run.known[value]) for value in graph.seeds}
        return key, arrays, drawn, run.changed

    def _parameters(self) -> dict[str, Any]:
        return {value.name: _numbers(tensor) for value, tensor in self.graph.parameters.items()}

    def _traced(self, key: Any, arrays: list[Any], parameters: dict[str, Any], drawn: dict[str, Any]) -> Any:
        """Run the graph on stand-ins: what JAX sees of it is the program."""
        following, graph = iter(arrays), self.graph
        inputs = [
            one.value if one.shape is None else new(XlaArray(next(following)), one.names) for one in key
        ]
        run = _Standing(graph)
        run.known = {value: _moved(held) for value, held in run.known.items()}
        for value, tensor in graph.parameters.items():
            run.known[value] = labelled(new(XlaArray(parameters[value.name]), tensor._names), tensor._labels)
        with no_grad():
            # They were checked when they were given.
            run.known |= dict(zip(graph.inputs, inputs, strict=True))
            run.known |= {value: _drawn(drawn[value.name]) for value in graph.seeds}
            run.binding.begin(inputs)
            outputs = run.block(graph)
        found: list[Any] = []
        forms = tuple(_form(value, one, found) for value, one in zip(graph.outputs, outputs, strict=True))
        with self._lock:
            self._forms[key] = forms[0] if graph.single else forms
        return found, {value.name: run.known[after].payload.value for value, after in graph.updates.items()}


class _Standing(Run):
    """A run on arrays whose numbers XLA will know: what they decide becomes XLA's control flow."""

    def call(self, node: Node) -> Any:
        """Return what a node gives."""
        callee, inputs = node.callee, [self._known(one) for one in node.inputs]
        if isinstance(callee, NamedFunction) and callee.name in _NUMBERS and _stands(inputs[0]):
            # What would be a number stays an array without dims, which is computed with as a number is.
            number = inputs[0].reshape(())
            return number.bool() if callee.name == "builtins.bool" else number
        if callee is Control.IF and _stands(inputs[0]):
            return self._either(node, inputs[0])
        if isinstance(callee, Op):
            if "crossing" in callee.properties:
                return inputs[0]  # a program is on one device
            if callee.name in ABSENT and any(map(_stands, inputs)):
                raise GraphError(
                    f"{node.name} of {self.graph.name} calls {callee.name}, which XLA does not compute: "
                    f"{ABSENT[callee.name]}"
                )
        try:
            found = super().call(node)
        except (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError) as error:
            raise GraphError(
                f"{node.name} of {self.graph.name} asks for numbers, which XLA knows only when it runs: compute it "
                "outside of what is compiled"
            ) from error
        # Tensors made of sizes and numbers alone are constants of the program.
        return _moved(found) if isinstance(callee, Op) else found

    def _known(self, operand: Any) -> Any:
        return self.known[operand] if isinstance(operand, Value) else operand

    def loop(self, body: Block, most: int | None, condition: Any, *carried: Any) -> tuple[Any, ...]:
        """Write turns out as long as their number is known, and leave the rest to XLA."""
        turn = 0
        while not _stands(condition):
            if not condition or (most is not None and turn >= most):
                return carried
            condition, *rest = self._turn(body, turn, carried)
            carried, turn = tuple(rest), turn + 1
        return self._while(body, most, turn, condition, carried)

    def _turn(self, body: Block, turn: Any, carried: tuple[Any, ...]) -> tuple[Any, ...]:
        given = (turn, *carried)
        self.known.update(zip(body.inputs, given, strict=True))
        self.binding.bind(body.inputs, given)
        after: tuple[Any, ...] = self.leave(body)
        return after

    def _while(
        self, body: Block, most: int | None, turn: int, condition: Any, carried: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        names = [one._names if isinstance(one, Tensor) else None for one in carried]

        def going(state: Any) -> Any:
            done, holds, _ = state
            return holds if most is None else holds & (done < most)

        def turned(state: Any) -> Any:
            done, _, values = state
            given = [new(XlaArray(one), name) for one, name in zip(values, names, strict=True)]
            holds, *after = self._turn(body, new(XlaArray(done)), tuple(given))
            return done + 1, _array(holds), [_array(one) for one in after]

        start = (jnp.asarray(turn), _array(condition), [_array(one) for one in carried])
        _, _, values = self._same(body, lambda: lax.while_loop(going, turned, start))
        return tuple(new(XlaArray(one), name) for one, name in zip(values, names, strict=True))

    def _either(self, node: Node, condition: Any) -> Any:
        names: list[Any] = []

        def branch(block: Block) -> Any:
            def computed() -> Any:
                outputs = self.leave(block)
                names[:] = [one._names if isinstance(one, Tensor) else None for one in outputs]
                return [_array(one) for one in outputs]

            return computed

        then, other = map(branch, node.blocks)
        found = self._same(node, lambda: lax.cond(_array(condition), then, other))
        outputs = tuple(new(XlaArray(one), name) for one, name in zip(found, names, strict=True))
        return outputs[0] if len(outputs) == 1 else outputs

    def _same(self, where: Any, build: Any) -> Any:
        """Build control flow; XLA wants one shape and type of a value, whichever way a run goes."""
        try:
            return build()
        except TypeError as error:
            raise GraphError(
                f"{getattr(where, 'name', 'a loop')} of {self.graph.name} gives values of other sizes or types one way "
                f"than another, and XLA wants one: {str(error).splitlines()[0]}"
            ) from error


def _stands(value: Any) -> bool:
    """Say whether a value has numbers only when the program runs."""
    array = value.payload if isinstance(value, Tensor) else value
    return isinstance(array, XlaArray) and isinstance(array.value, jax.core.Tracer)


def _moved(value: Any) -> Any:
    """Return a tensor of the CPU as a constant of the program, also in what holds several."""
    if isinstance(value, Tensor) and backend_of(value.payload) is None:
        return labelled(new(XlaArray(jnp.asarray(_numbers(value))), value._names), value._labels)
    return tuple(map(_moved, value)) if type(value) is tuple else value


def _numbers(value: Any) -> Any:
    """Return a tensor's numbers; numbers as they are."""
    if not isinstance(value, Tensor):
        return value
    if type(value.payload) is not np.ndarray:
        raise GraphError(
            f"XLA is given plain tensors of the CPU, got one with {type(value.payload).__name__}"
        )
    return value.payload


def _array(value: Any) -> Any:
    array = value.payload if isinstance(value, Tensor) else value
    return array.value if isinstance(array, XlaArray) else jnp.asarray(array)


def _drawn(array: Any) -> Any:
    # A seed is a number among an op's parameters, and not one of its tensors.
    return XlaArray(array) if array.ndim == 0 and array.dtype.kind == "i" else new(XlaArray(array))


def _seen(value: Any) -> _Given:
    if not isinstance(value, Tensor):
        return _Given(None, type(value), None, value)
    return _Given(value.payload.shape, value.payload.dtype, value._names)


def _instead(numbers: Any, old: Any) -> Any:
    return numbers


# What a result is made of: an array of the program, as a tensor with names or as a number, or a thing by itself.


class _Tensor(NamedTuple):
    names: Any


class _Number(NamedTuple):
    pass


class _Thing(NamedTuple):
    value: Any


def _form(value: Any, result: Any, found: list[Any]) -> Any:
    """Note the arrays of a result in `found`, and return how it is put together of them."""
    if isinstance(result, tuple | list) and not hasattr(result, "_fields"):
        return type(result)(_form(None, one, found) for one in result)
    if isinstance(result, dict):
        return {key: _form(None, one, found) for key, one in result.items()}
    if not isinstance(result, Tensor):
        return _Thing(result)
    found.append(_array(result))
    number = isinstance(value, Value) and not isinstance(value.type, TensorType)
    return _Number() if number else _Tensor(result._names)


def _rebuilt(form: Any, arrays: Iterator[Any]) -> Any:
    match form:
        case _Tensor(names=names):
            # JAX's arrays cannot be written to, tensors can.
            return new(np.array(next(arrays)), names)
        case _Number():
            return next(arrays).item()
        case _Thing(value=value):
            return value
        case dict():
            return {key: _rebuilt(one, arrays) for key, one in form.items()}
    return type(form)(_rebuilt(one, arrays) for one in form)
