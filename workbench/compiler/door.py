"""``wb.compile``: modules and functions that run as one program of steps, and otherwise as they are written."""

from __future__ import annotations

import functools
import os
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from workbench.compiler.backends import backend_called
from workbench.compiler.compiled import Compiled
from workbench.compiler.precision import precision_called
from workbench.compiler.report import Report
from workbench.core.backend import Backend
from workbench.nn.module import Module

__all__ = ["CompiledFunction", "CompiledModule", "compile", "explain"]

_AS_WRITTEN = ("eager", "aot_eager")
"""Backends of PyTorch's that compile nothing."""


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    precision: Any = "float32",
    mode: str | None = None,
    options: Any = None,
    disable: bool = False,
    **kwargs: Any,
) -> Any:
    r"""Return a module or function that runs as one program of steps: fused, packed, without Python between them.

    A module becomes one of its own class that shares all its state with it: parameters, buffers, attributes, hooks. A
    call traces the function once for all sizes (`wb.graph.trace`), freezes and fuses the graph, and makes a program for
    each set of sizes that comes. What changes behind it, such as parameters, the mode or attributes of modules, is
    noticed at the next call, and all is made anew. Results are those of the function to within rounding,
    :math:`10^{-5}` of the largest, and the same bits in each run. Several threads may call it at once.

    While gradients are recorded there is a second program for the gradient, in training mode too: parameters are read
    anew at each call, buffers that are updated and what is drawn at random are those of the function. It may as well be
    a whole loss that is compiled. Attribution asks for gradients of arguments alone: parameters are constants there,
    normalisations are folded into layers, and no gradient of a weight is computed. It runs as it is written, without a
    program, where nothing is recorded and it draws or changes buffers, where a module has hooks, and where the function
    has no graph; `explain` says which and why.
    `dynamic`, `mode` and `options` are taken: sizes are always symbolic. ``backend="xla"`` (extra `xla`) makes a
    program of StableHLO of the same graph, and so does any `wb.Backend` with a `compile`, by its name.
    ``precision="bfloat16"`` lets programs that record no gradients compute in bfloat16 where the processor does so by
    itself (AVX512-BF16, AMX): layers and products multiply narrow values and add up in float32, and values between them
    are stored so, as `graph.passes.lower_precision` says. What is given and what comes out keeps its type; results are
    off by up to :math:`2^{-8}` for each layer on the way, as under `autocast`. Other processors compute in float32,
    with a warning.
    ``backend="eager"``, ``disable=True`` and ``TORCH_COMPILE_DISABLE=1`` return `model` itself; without `model`, a
    decorator is returned.

    Raises:
        UnavailableError: `backend` is none that compiles, or a function, which would be given a graph of PyTorch's.
        ValueError: `precision` is neither ``"float32"`` nor ``"bfloat16"``.
        GraphError, NoNumbersError: in a call, with ``fullgraph=True``, where the function has no graph.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(4, 8), wb.nn.ReLU(), wb.nn.Linear(8, 2)).eval()
    >>> fast = wb.compile(model)
    >>> isinstance(fast, wb.nn.Sequential), list(fast.state_dict()) == list(model.state_dict())
    (True, True)
    >>> x = wb.ones(3, 4)
    >>> with wb.no_grad():
    ...     wb.allclose(fast(x), model(x))
    True
    """
    if disable or backend in _AS_WRITTEN or os.environ.get("TORCH_COMPILE_DISABLE", "0") == "1":
        return _itself if model is None else model
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, backend=backend, precision=precision)
    other = backend_called(backend)
    narrow = precision_called(precision, other)
    if isinstance(model, CompiledModule | CompiledFunction):
        known = model._compiled if isinstance(model, CompiledModule) else model.compiled
        if known.precision == narrow:
            return model
        model = model._orig_mod if isinstance(model, CompiledModule) else known.function
    if isinstance(model, Module):
        return _compiled_module(model, fullgraph, other, narrow)
    if not callable(model):
        raise TypeError(f"compile takes a module or a function, got {type(model).__name__}")
    return CompiledFunction(model, fullgraph, other, narrow)


def _itself(model: Any) -> Any:
    return model


class CompiledModule(Module):
    """A module that runs as a program; see `compile`. Its class is made for it, below that of what was compiled."""

    _compiled: Compiled
    _prepares = True
    """Whether the first call takes more than those that follow: whoever measures calls twice."""
    _orig_mod: Any
    """What was compiled. Programs look here for it."""

    def _working_bytes(self, shapes: Sequence[tuple[int, ...]]) -> int:
        return Report.of(self._compiled).working_bytes(shapes)

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        return self._compiled(inputs, keywords)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Its class is made anew where it is unpickled or copied; programs are made there, too.
        backend = self._compiled.backend
        return _compiled_again, (
            self._orig_mod,
            self._compiled.fullgraph,
            None if backend is None else backend.name,
            self._compiled.precision,
        )


def _compiled_module(model: Module, fullgraph: bool, backend: Backend | None, precision: str) -> Module:
    kind = type(model)
    # A class of its own, so that what is compiled lies in no attribute of the module: its state stays as it was.
    made_for = type(
        kind.__name__,
        (CompiledModule, kind),
        {
            "__doc__": kind.__doc__,
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "_compiled": Compiled(model, model, fullgraph, backend, precision),
            "_orig_mod": model,
        },
    )
    made: Module = object.__new__(made_for)
    # The very same attributes: whatever is done to one is done to both.
    object.__setattr__(made, "__dict__", vars(model))
    return made


def _compiled_again(model: Module, fullgraph: bool, backend: str | None, precision: str) -> Module:
    other = None if backend is None else backend_called(backend)
    return _compiled_module(model, fullgraph, other, precision_called(precision, other))


class CompiledFunction:
    """A function that runs as a program; see `compile`. As a method, it is compiled for each object it is bound to."""

    _prepares = True

    def __init__(
        self,
        function: Callable[..., Any],
        fullgraph: bool,
        backend: Backend | None = None,
        precision: str = "float32",
    ) -> None:
        functools.update_wrapper(self, function)
        self.compiled = Compiled(function, function, fullgraph, backend, precision)
        self._bound: weakref.WeakKeyDictionary[Any, CompiledFunction] = weakref.WeakKeyDictionary()

    def _working_bytes(self, shapes: Sequence[tuple[int, ...]]) -> int:
        return Report.of(self.compiled).working_bytes(shapes)

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """Call the function."""
        return self.compiled(inputs, keywords)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        try:
            known = self._bound.get(instance)
        except TypeError:  # nothing can refer to it weakly, or it has no hash
            return types.MethodType(self.compiled.function, instance)
        if known is None:
            bound = types.MethodType(self.compiled.function, instance)
            known = self._bound[instance] = CompiledFunction(
                bound, self.compiled.fullgraph, self.compiled.backend, self.compiled.precision
            )
        return known


def explain(compiled: Any) -> Report:
    """Return what became of a compiled module or function: programs, steps, bytes, and what ran as it is written.

    Raises TypeError for what `compile` has not returned.

    >>> import workbench as wb
    >>> fast = wb.compile(wb.nn.ReLU().eval())
    >>> fast(wb.tensor([1.0, -1.0]))
    tensor([1., 0.])
    >>> print(wb.compiler.explain(fast))
    ReLU: 1 program, 0 bytes of packed weights; 1 call ran compiled
      for 2: 1 step and 0 ops of Python's, 0 bytes planned in place of 0
        1 × chain of 3
    """
    if isinstance(compiled, CompiledModule):
        return Report.of(compiled._compiled)
    if isinstance(compiled, CompiledFunction):
        return Report.of(compiled.compiled)
    raise TypeError(f"explain takes what wb.compile returned, got {type(compiled).__name__}")
