"""Tracing in TorchScript's words: a module or function becomes one that runs the graph of one of its runs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from workbench.core.dispatch import no_grad
from workbench.graph import Graph, run_apart
from workbench.graph import trace as graph_of
from workbench.graph.arguments import input_names, structure, tensors_in
from workbench.jit.guards import switched_off
from workbench.jit.script_modules import ScriptFunction, ScriptModule, mirrored
from workbench.nn import Module
from workbench.random import fork_rng
from workbench.tensor import Tensor

__all__ = ["TracerWarning", "TracingCheckError", "trace", "trace_module"]


class TracerWarning(Warning):
    """A size that a traced function needs as a number: its graph runs for no other."""


class TracingCheckError(RuntimeError):
    """A trace gives other results than what was traced."""


def trace(
    func: Callable[..., Any],
    example_inputs: Any = None,
    optimize: bool | None = None,
    check_trace: bool = True,
    check_inputs: Sequence[Any] | None = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    *,
    example_kwarg_inputs: Mapping[str, Any] | None = None,
) -> Any:
    """Return a function, or a module, that runs the graph of one run of `func`; the original stays as it is.

    `example_inputs` is a tensor, or a tuple of what `func` takes: tensors, and tuples, lists and dicts of them. A
    module that is made of a module shares its parameters and buffers, and has its parts by name. Sizes may differ from
    those of the example: what is computed with them follows, and what is decided by them is asked in every run. A size
    that was needed as a number is warned of, with the line.

    With `check_trace` the result is compared with what `func` gives: for the example, and for each of `check_inputs`;
    numbers may differ by `check_tolerance`, relative or absolute. `optimize` and `strict` are taken and change nothing:
    lists and dicts may be returned.

    Raises NoNumbersError with the line that asks for numbers, as ``if x.sum() > 0`` does; GraphError for what no graph
    repeats; TracingCheckError where the trace gives something else.

    >>> import workbench as wb
    >>> layer = wb.nn.Linear(3, 2)
    >>> traced = trace(layer, wb.rand(4, 3))
    >>> traced.weight is layer.weight, [node.op.name for node in traced.graph.nodes]
    (True, ['linear'])
    """
    if switched_off() or isinstance(func, ScriptModule | ScriptFunction):
        return func
    positional = _examples(func, example_inputs, example_kwarg_inputs)
    arguments = _arguments(func, len(positional))
    graph = graph_of(func, *positional)
    _warn(graph)
    made: ScriptModule | ScriptFunction = ScriptFunction(graph, arguments)
    if isinstance(func, Module):
        made = ScriptModule({"forward": graph}, {"forward": arguments}, func._get_name())
        mirrored(func, made)
    if check_trace:
        _check(func, func, graph, [positional, *map(_as_tuple, check_inputs or ())], check_tolerance)
    return made


def trace_module(
    mod: Module,
    inputs: Mapping[str, Any],
    optimize: bool | None = None,
    check_trace: bool = True,
    check_inputs: Sequence[Mapping[str, Any]] | None = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
) -> Any:
    """Return a module with a graph for each method of `mod` that `inputs` has examples for; see `trace`.

    >>> import workbench as wb
    >>> class Scaled(wb.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = wb.nn.Parameter(wb.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.scale
    ...     def back(self, y):
    ...         return y / self.scale
    >>> traced = trace_module(Scaled(), {"forward": wb.ones(2), "back": wb.ones(2)})
    >>> traced.back(traced(wb.tensor([1.0, 3.0]))).detach()
    tensor([1., 3.])
    """
    if switched_off():
        return mod
    graphs: dict[str, Graph] = {}
    arguments: dict[str, list[str]] = {}
    for name, example in inputs.items():
        method = _Method(mod, name)
        positional = _as_tuple(example)
        arguments[name] = _arguments(method.forward, len(positional))
        graphs[name] = graph_of(method, *positional)
        graphs[name].name = name
        _warn(graphs[name])
        if check_trace:
            others = [_as_tuple(one[name]) for one in check_inputs or () if name in one]
            _check(mod, method.forward, graphs[name], [positional, *others], check_tolerance)
    made = ScriptModule(graphs, arguments, mod._get_name())
    mirrored(mod, made)
    return made


class _Method:
    """A method of a module as a trace sees a module: called itself, with the parameters of its module."""

    def __init__(self, module: Module, name: str) -> None:
        self.forward = module if name == "forward" else getattr(module, name)
        self.named_modules = module.named_modules
        self.named_parameters = module.named_parameters
        self.named_buffers = module.named_buffers

    def __call__(self, *inputs: Any) -> Any:
        return self.forward(*inputs)


def _as_tuple(example: Any) -> tuple[Any, ...]:
    return tuple(example) if isinstance(example, tuple | list) else (example,)


def _examples(func: Any, inputs: Any, keywords: Mapping[str, Any] | None) -> tuple[Any, ...]:
    if (inputs is None) == (keywords is None):
        raise TypeError("jit.trace takes example_inputs or example_kwarg_inputs, one of them")
    if keywords is None:
        return _as_tuple(inputs)
    bound = inspect.signature(func.forward if isinstance(func, Module) else func).bind(**keywords)
    if bound.kwargs:
        raise TypeError(f"jit.trace: {next(iter(bound.kwargs))} can be given by its name alone, and a graph takes its "
                        "inputs in order")  # fmt: skip
    return bound.args


def _arguments(func: Any, count: int) -> list[str]:
    """Return what the arguments of a function are called; those of ``*inputs`` have numbers."""
    names = input_names(func, func if isinstance(func, Module) else None, count)
    return [name if names.index(name) == i else f"{name}_{i}" for i, name in enumerate(names)]


def _warn(graph: Graph) -> None:
    """Warn of the sizes that the graph has as numbers."""
    said = set()
    for guard in graph.guards:
        # What ops compare, as a convolution its channels, would be refused by them anyhow.
        if guard.number and guard.source not in said:
            said.add(guard.source)
            where = guard.source or "the function"
            warnings.warn(
                f"{where} needs {guard.left} as a number: the trace runs where it is {guard.right}, for no other size",
                TracerWarning,
                stacklevel=3,
            )


# ------------------------------------------------------------------------------------------------ checking


def _check(module: Any, func: Any, graph: Graph, inputs: list[tuple[Any, ...]], tolerance: float) -> None:
    """Compare what a graph gives with what `func` gives; both leave all as it was."""
    for turn, given in enumerate(inputs):
        what = f"check_inputs[{turn - 1}]" if turn else "the example"
        with no_grad(), _unchanged(module), fork_rng():
            # Copies, as it may write into what it is given.
            copies = [structure(one, "x", lambda tensor, _: _copy(tensor)) for one in given]
            expected = func(*copies)
        with no_grad(), fork_rng():
            try:
                found, after = run_apart(graph, *given)
            except RuntimeError as error:
                raise TracingCheckError(f"the trace of {graph.name} refuses {what}: {error}") from error
        difference = _difference(found, expected, tolerance)
        for value, before, copy in zip(graph.inputs, tensors_in(given), tensors_in(copies), strict=True):
            now = after.get(value.name, before)
            difference = difference or _difference(now, copy, tolerance, f"{value.name} afterwards")
        if difference:
            raise TracingCheckError(
                f"the trace of {graph.name} gives something else for {what}: {difference}"
            )


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


@contextmanager
def _unchanged(module: Any) -> Iterator[None]:
    """Give the buffers of a module back what they were."""
    buffers = list(module.buffers()) if isinstance(module, Module) else []
    before = [one.detach().clone() for one in buffers]
    try:
        yield
    finally:
        for one, numbers in zip(buffers, before, strict=True):
            one.copy_(numbers)


def _difference(found: Any, expected: Any, tolerance: float, place: str = "result") -> str:
    """Say in what two results differ; empty where they do not."""
    if isinstance(expected, Tensor):
        if not isinstance(found, Tensor) or found.shape != expected.shape or found.dtype != expected.dtype:
            return f"{place} is {_kind(found)}, not {_kind(expected)}"
        one, other = (
            np.asarray((x.dequantize() if x.is_quantized else x).numpy()) for x in (found, expected)
        )
        wide = np.complex128 if one.dtype.kind == "c" else np.float64
        one, other = one.astype(wide), other.astype(wide)
        if np.allclose(one, other, tolerance, tolerance, equal_nan=True):
            return ""
        return f"{place} differs by up to {float(np.nanmax(np.abs(one - other))):.3g}"
    if isinstance(expected, tuple | list):
        if not isinstance(found, tuple | list) or len(found) != len(expected):
            return f"{place} is {_kind(found)}, not {_kind(expected)}"
        pairs = enumerate(zip(found, expected, strict=True))
        return next(filter(None, (_difference(*pair, tolerance, f"{place}[{i}]") for i, pair in pairs)), "")
    if isinstance(expected, dict):
        if not isinstance(found, dict) or found.keys() != expected.keys():
            return f"{place} is {_kind(found)}, not {_kind(expected)}"
        named = ((key, (found[key], one)) for key, one in expected.items())
        return next(
            filter(None, (_difference(*pair, tolerance, f"{place}[{key!r}]") for key, pair in named)), ""
        )
    return "" if found == expected else f"{place} is {found!r}, not {expected!r}"


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor {list(value.shape)} of {value.dtype}"
    return (
        f"a {type(value).__name__} of {len(value)}" if isinstance(value, tuple | list | dict) else repr(value)
    )
