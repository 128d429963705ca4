"""Arguments of a traced function that are tuples, lists and dicts: how the tensors in them become inputs of a graph.

A graph takes single tensors. Where the function took more than that, `Graph.takes` has each argument as it was, with
the inputs in the places of tensors; a run takes apart by it what it is given.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.base.dims import check_names
from workbench.base.dtypes import float32
from workbench.base.errors import DTypeError
from workbench.base.symbolic_size import hint
from workbench.core.value import Abstract, new
from workbench.graph.blocks import GraphError, Value
from workbench.tensor import Tensor

__all__ = ["KEPT", "input_names", "stand_in", "structure", "taken_apart", "tensors_in"]

KEPT = (str, int, float, bool, type(None))
"""What may stand beside tensors: a run has to give the same."""


def input_names(function: Any, module: Any, count: int) -> list[str]:
    """Return the names of the function's parameters; those of ``*inputs`` are numbered."""
    try:
        called = module.forward if module is not None else function
        # Where `forward` takes whatever comes, a module may say itself what that is.
        said = getattr(module, "__signature__", None)
        found = (said or inspect.signature(called)).parameters.values()
    except (TypeError, ValueError):  # built-in functions have no signature
        found = ()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in found if one.kind in positional]
    return [names[i] if i < len(names) else "x" for i in range(count)]


def stand_in(example: Any, number: int) -> Any:
    """Return a tensor with the dims and the type of an example."""
    if isinstance(example, Mapping):
        names = check_names(tuple(example), len(example))
        sizes = tuple(example.values())
        if any(type(size) is not int or size < 0 for size in sizes):
            raise DTypeError(f"sizes are whole numbers from 0; example {number} has {dict(example)}")
        result: Any = new(Abstract(sizes, float32.numpy), names)
        return result
    if not isinstance(example, Tensor):
        raise DTypeError(
            f"trace takes tensors, tuples, lists and dicts of them, or sizes by name, as examples; number {number} is "
            f"{type(example).__name__}{_fix(example)}"
        )
    sizes = tuple(map(hint, example.payload.shape))
    result = new(Abstract(sizes, example.payload.dtype), example._names)
    return result.requires_grad_(example.requires_grad)


def _fix(example: Any) -> str:
    """Return what to do with an example that is no tensor."""
    if callable(example):
        # Its parameters are then those of what is traced, or constants.
        return ". Close over it: trace(lambda x: function(module, x), x), or make what you trace a module that has it"
    return ". Close over it: trace(lambda x: function(value, x), x)"


def tensors_in(example: Any) -> Iterator[Any]:
    """Yield the tensors in an argument, in order."""
    if isinstance(example, tuple | list):
        for one in example:
            yield from tensors_in(one)
    elif isinstance(example, dict):
        for one in example.values():
            yield from tensors_in(one)
    elif isinstance(example, Tensor):
        yield example


def structure(example: Any, name: str, leaf: Callable[[Any, str], Any]) -> Any:
    """Return an argument with what `leaf` gives for each tensor and its name: ``pair_0``, ``batch_image``.

    Raises `DTypeError` for what is neither a tensor nor one of the plain values `KEPT`.
    """
    if isinstance(example, tuple | list):
        parts = [structure(one, f"{name}_{i}", leaf) for i, one in enumerate(example)]
        make = getattr(type(example), "_make", type(example))  # named tuples take their fields one by one
        return make(parts)
    if isinstance(example, dict):
        return {key: structure(one, f"{name}_{_word(key)}", leaf) for key, one in example.items()}
    if isinstance(example, Tensor):
        return leaf(example, name)
    if type(example) in KEPT:
        return example
    raise DTypeError(
        f"{name}: a traced function takes tensors, and tuples, lists and dicts of tensors, numbers, text and None, "
        f"not {type(example).__name__}"
    )


def _word(key: Any) -> str:
    if not isinstance(key, KEPT):
        raise DTypeError(
            f"{type(key).__name__} cannot be a key of a dict that a graph takes: text and numbers can"
        )
    return re.sub(r"\W", "_", str(key))


def taken_apart(takes: tuple[Any, ...], given: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """Return what is given for each input of a graph called `name`, in order.

    Raises `GraphError` where it is put together in another way than what the function was traced with.
    """
    return tuple(_leaves(takes, given, f"what {name} is given"))


def _leaves(wanted: Any, given: Any, where: str) -> Iterator[Any]:
    match wanted:
        case Value():
            yield given
        case tuple() | list():
            kind = tuple if isinstance(wanted, tuple) else list
            if not isinstance(given, kind) or len(given) != len(wanted):
                raise _otherwise(where, f"a {kind.__name__} of {len(wanted)}", given)
            for i, (own, one) in enumerate(zip(wanted, given, strict=True)):
                yield from _leaves(own, one, f"{where}[{i}]")
        case dict():
            if not isinstance(given, dict) or set(given) != set(wanted):
                raise _otherwise(where, f"a dict of {list(wanted)}", given)
            for key, own in wanted.items():
                yield from _leaves(own, given[key], f"{where}[{key!r}]")
        case _:
            # Not a tensor: ``==`` of one would be a tensor, too.
            if type(given) is not type(wanted) or given != wanted:
                raise _otherwise(where, repr(wanted), given)


def _otherwise(where: str, wanted: str, given: Any) -> GraphError:
    found = f"a dict of {list(given)}" if isinstance(given, dict) else _shown(given)
    return GraphError(f"{where} was {wanted} in the trace, and is {found} now: trace again with this")


def _shown(given: Any) -> str:
    if isinstance(given, tuple | list):
        return f"a {type(given).__name__} of {len(given)}"
    return repr(given) if type(given) in KEPT else type(given).__name__
