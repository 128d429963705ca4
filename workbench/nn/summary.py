"""What a model is made of: for each module its dims by name, parameters, operations and memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from workbench.base import renderer_lookup
from workbench.base.dims import Dims
from workbench.base.dtypes import DType, as_dtype, dtype_of, get_default_dtype
from workbench.base.errors import DTypeError, NoNumbersError
from workbench.base.number_format import byte_figure, si
from workbench.core import dispatch, scope
from workbench.core.op import Op
from workbench.core.value import Abstract, Value, dims_of, new
from workbench.nn.module import Module
from workbench.nn.parameter import is_lazy
from workbench.nn.spatial_names import require_size
from workbench.tensor import Tensor

__all__ = ["Layer", "Summary", "summary"]


class Layer(NamedTuple):
    """One module of a summary; all but its parameters is for everything inside of it, over all of its calls."""

    path: str
    """Where it stands in the model; empty for the model itself."""
    kind: str
    """The name of its class."""
    outputs: tuple[tuple[Dims, str], ...]
    """Dims and type of each tensor that its last call returned; empty where it was not called."""
    parameters: int
    """Values of its own parameters and of those below, each counted once."""
    trainable: int
    """Those of them that ask for gradients."""
    flops: float
    """Floating point operations of the forward pass; a product and its sum are two."""
    memory: int
    """Bytes of what its ops return, views left out: about what a backward pass keeps."""
    calls: int
    """How often it was called."""

    @property
    def ran(self) -> bool:
        """Whether it was called, or at least something inside of it: a list of modules is never called."""
        return bool(self.calls or self.flops or self.memory)

    @property
    def depth(self) -> int:
        """How many modules it stands in."""
        return self.path.count(".") + 1 if self.path else 0


class Summary:
    """The modules of a model, in order; prints as a table, and shows as a tree in a notebook."""

    def __init__(self, layers: tuple[Layer, ...], inputs: tuple[tuple[Dims, str], ...], weights: int) -> None:
        self.layers = layers
        self.inputs = inputs
        self.weights = weights
        """Bytes of all parameters and buffers."""

    @property
    def total(self) -> Layer:
        """The model itself."""
        return self.layers[0]

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def __getitem__(self, path: str) -> Layer:
        found = next((layer for layer in self.layers if layer.path == path), None)
        if found is None:
            raise KeyError(f"the model has no module at {path!r}")
        return found

    def __repr__(self) -> str:
        head = ("layer", "output", "parameters", "flop", "memory")
        rows = [
            (
                "  " * layer.depth
                + (f"{layer.path.rpartition('.')[2]}: " if layer.path else "")
                + layer.kind,
                outputs_text(layer),
                si(layer.parameters) if layer.parameters else "",
                si(layer.flops) if layer.flops else "",
                byte_figure(layer.memory) if layer.memory else "",
            )
            for layer in self.layers
        ]
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(5)]
        lines = [_line(head, widths), "  ".join("─" * width for width in widths)]
        lines += [_line(row, widths) for row in rows]
        return "\n".join([*lines, "", *self.totals()])

    def totals(self) -> list[str]:
        """Return the sums in words, a line each."""
        total = self.total
        frozen, flops = total.parameters - total.trainable, si(total.flops)
        return [
            f"input {', '.join(f'{dtype}{dims}' for dims, dtype in self.inputs)}",
            f"{total.parameters:,} parameters" + (f", {frozen:,} of them frozen" if frozen else ""),
            f"{flops}{'' if flops[-1].isalpha() else ' '}flop forward · weights {byte_figure(self.weights)} · "
            f"activations {byte_figure(total.memory)}",
        ]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)


def outputs_text(layer: Layer) -> str:
    """Return the dims of what a module returns, as a line of text."""
    return ", ".join(str(dims) for dims, _ in layer.outputs) if layer.ran else "not called"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    left = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
    right = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
    return "  ".join([*left, *right]).rstrip()


class _Counter:
    """The interpreter that adds up what the ops of each module cost."""

    transparent = True

    def __init__(self) -> None:
        self.flops: dict[tuple[str, ...], float] = {}
        self.memory: dict[tuple[str, ...], int] = {}

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run the op, and note its cost for the module that called it and all that this one stands in."""
        results = dispatch.apply(op, *inputs, **params)
        several = results if isinstance(results, tuple) else (results,)
        dims = [dims_of(value) if isinstance(value, Value) else Dims((), ()) for value in inputs]
        flops = op.cost(dims, dims_of(several[0]), **params)
        # A view has no memory of its own.
        size = 0 if op.view else sum(_bytes(value.payload) for value in several)
        path = scope.current()
        for depth in range(len(path) + 1):
            self.flops[path[:depth]] = self.flops.get(path[:depth], 0.0) + flops
            self.memory[path[:depth]] = self.memory.get(path[:depth], 0) + size
        return results


def _bytes(array: Any) -> int:
    size = 1
    for one in array.shape:
        size *= one
    return size * int(
        np.dtype(array.dtype).itemsize if not hasattr(array.dtype, "itemsize") else array.dtype.itemsize
    )


def summary(model: Module, *inputs: Tensor, dtype: Any = None, **sizes: int) -> Summary:
    """Return what a model is made of, when it is called with inputs of some dims.

    The input is given by the names and sizes of its dims, ``summary(model, N=1, C=3, H=224, W=224)``, with its type
    as `dtype`, which is that of the parameters unless it is told; or as tensors. No numbers are computed: ops follow
    their rules for dims and types. A model that looks at numbers on its way (which no rule can know) is run on zeros
    instead.

    The model stays as it is, but for lazy layers, which know their sizes from then on. Raises TypeError where there is
    no input, and whatever the model raises for those dims.

    >>> import workbench as wb
    >>> wb.summary(wb.nn.Linear(3, 2), N=4, C=3)
    layer   output                 parameters  flop  memory
    ──────  ─────────────────────  ──────────  ────  ──────
    Linear  [N:4, out_features:2]           8    48    32 B
    <BLANKLINE>
    input float32[N:4, C:3]
    8 parameters
    48 flop forward · weights 32 B · activations 32 B
    """
    if not isinstance(model, Module):
        raise TypeError(f"summary takes a Module, got {type(model).__name__}")
    for one in inputs:
        if not isinstance(one, Tensor):
            raise TypeError(f"summary takes tensors, got {type(one).__name__}: wb.tensor(...) makes one")
    if bool(inputs) == bool(sizes):
        raise TypeError(
            "summary takes the dims of one input by name, summary(model, N=1, C=3, H=224, W=224), or tensors: "
            + ("both were given" if inputs else "nothing was given")
        )
    if sizes:
        require_size(0, **sizes)
        found = _own_dtype(model) if dtype is None else as_dtype(dtype)
        dims = Dims(tuple(sizes), tuple(sizes.values()))
        given: tuple[Any, ...] = (new(Abstract(dims.sizes, found.numpy), dims.names),)
    else:
        given = tuple(_without_numbers(one) for one in inputs)
    try:
        return _summarised(model, given)
    # Something in it asks for numbers: so it gets some.
    except NoNumbersError:
        return _summarised(model, inputs if inputs else tuple(_zeros(one) for one in given))
    except DTypeError as error:
        if sizes and dtype is None:
            error.add_note(
                f"summary gave an input of type {found.name}: it takes another as dtype=, such as dtype=wb.int64"
            )
        raise


def _own_dtype(model: Module) -> DType:
    """Return the type that the model computes in: that of its first parameter of real numbers."""
    types = (dtype_of(one.payload) for one in model.parameters())
    return next((one for one in types if one.is_floating_point), get_default_dtype())


def _without_numbers(value: Tensor) -> Any:
    return new(Abstract(value.payload.shape, value.payload.dtype), value._names)


def _zeros(value: Any) -> Any:
    return new(np.zeros(value.payload.shape, value.payload.dtype), value._names)


def _summarised(model: Module, inputs: tuple[Any, ...]) -> Summary:
    outputs: dict[int, tuple[tuple[Dims, str], ...]] = {}
    calls: dict[int, int] = {}

    def note(module: Module, _: Any, output: Any) -> None:
        outputs[id(module)] = tuple(_tensors(output))
        calls[id(module)] = calls.get(id(module), 0) + 1

    # What is undone comes off in the reverse order: hooks go first, and the attributes come back last.
    counter = _Counter()
    with ExitStack() as stack:
        for module in model.modules():
            held = (*module.parameters(recurse=False), *module.buffers(recurse=False))
            if any(map(is_lazy, held)):  # a lazy layer keeps the sizes that it takes
                stack.callback(setattr, module, "training", module.training)
            else:
                stack.callback(_put_back, module, dict(module.__dict__))
        for one in model.buffers():
            if not is_lazy(one):
                stack.callback(_fill_back, one, one.payload, one._names, one._version, one.payload.copy())
        for module in model.modules():
            stack.callback(module.register_forward_hook(note))
        # The flag that this sets is an attribute, and comes back with the others.
        model.eval()
        stack.enter_context(scope.tracking(model))
        stack.enter_context(dispatch.no_grad())
        stack.enter_context(dispatch.interpreting(counter))
        model(*inputs)
    layers = []
    for path, module in model.named_modules():
        parameters = {id(one): one for one in module.parameters()}.values()
        place = tuple(path.split(".")) if path else ()
        layers.append(
            Layer(
                path,
                type(module).__name__,
                outputs.get(id(module), ()),
                sum(_count(one) for one in parameters),
                sum(_count(one) for one in parameters if one.requires_grad),
                counter.flops.get(place, 0.0),
                counter.memory.get(place, 0),
                calls.get(id(module), 0),
            )
        )
    weights = sum(_bytes(one.payload) for one in (*model.parameters(), *model.buffers()))
    return Summary(tuple(layers), tuple(_tensors(inputs)), weights)


def _put_back(module: Module, attributes: dict[str, Any]) -> None:
    """Give a module the attributes that it had before it was run."""
    module.__dict__.clear()
    module.__dict__.update(attributes)


def _fill_back(buffer: Tensor, array: Any, names: Any, version: int, values: Any) -> None:
    """Give a buffer the numbers that it had before its module was run."""
    if buffer.payload is not array or buffer._version != version:
        array[...] = values
        buffer.payload, buffer._names = array, names


def _count(value: Tensor) -> int:
    size = 1
    for one in value.payload.shape:
        size *= one
    return size


def _tensors(value: Any) -> Iterator[tuple[Dims, str]]:
    if isinstance(value, Value):
        yield dims_of(value), str(getattr(value.payload.dtype, "name", value.payload.dtype))
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _tensors(one)
