"""What PyTorch has in states of dynamic recurrent layers: objects outside of Python, with a state of their own."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import short
from workbench.tensor import Tensor
from workbench.tensor.factories import zeros

__all__ = [
    "CELL",
    "LINEAR",
    "ScriptObject",
    "advice_for",
    "cell_object",
    "linear_object",
    "parts_of_cell",
    "parts_of_linear",
]

LINEAR = "__torch__.torch.classes.quantized.LinearPackedParamsBase"
"""A weight, in codes or as float16, and its bias."""
CELL = "__torch__.torch.classes.rnn.CellParamsBase"
"""Both products of a layer and direction of a recurrent network."""

_CODES, _HALVES = "quantized_dynamic", "quantized_fp16"


class ScriptObject:
    """The name of a class of PyTorch's outside of Python, and the state of one object of it.

    >>> import workbench as wb
    >>> linear_object(wb.ones(1, 2), wb.zeros(1)).__getstate__()[1]
    '__torch__.torch.classes.quantized.LinearPackedParamsBase'
    """

    def __init__(self, state: Any = None, name: str = "") -> None:
        self.state, self.name = state, name

    def __getstate__(self) -> tuple[Any, str]:
        """Return state and name, as PyTorch's object does."""
        return self.state, self.name

    def __setstate__(self, state: tuple[Any, str]) -> None:
        self.state, self.name = state

    def __repr__(self) -> str:
        return f"<{self.name}: {self.state!r}>"


def linear_object(weight: Any, bias: Any) -> ScriptObject:
    """Return the object of a weight and its bias: PyTorch's has float16 as float32, and a bias always."""
    given = weight if weight.is_quantized else weight.float()
    return ScriptObject((given, zeros(len(weight)) if bias is None else bias), LINEAR)


def cell_object(inner: ScriptObject, hidden: ScriptObject) -> ScriptObject:
    """Return the object of both products: what comes in is multiplied by the first, the last output by the second."""
    both = [inner, hidden]
    if not inner.state[0].is_quantized:
        return ScriptObject((_HALVES, [], [], [], both), CELL)
    # Biases of both; no numbers; that codes of what comes in leave a bit out.
    return ScriptObject((_CODES, [one.state[1] for one in both], [], [1], both), CELL)


def parts_of_linear(given: Any) -> tuple[Tensor, Tensor | None]:
    """Return weight and bias of an object; raise ValueError for what is none."""
    pair = _state(given, LINEAR)
    fits = isinstance(pair, tuple | list) and len(pair) == 2
    if not (fits and isinstance(pair[0], Tensor) and isinstance(pair[1], Tensor | None)):
        raise ValueError(f"expected a packed weight and its bias, got {_called(pair)}.")
    return pair[0], pair[1]


def parts_of_cell(given: Any) -> list[tuple[Tensor, Tensor | None]]:
    """Return weight and bias of both products of an object; raise ValueError for what is none."""
    state = _state(given, CELL)
    if not isinstance(state, tuple | list) or len(state) != 5 or state[0] not in (_CODES, _HALVES):
        kind = short(state[0])[1:-1] if isinstance(state, tuple | list) and state else _called(state)
        raise ValueError(f"expected a layer's two packed weights ({_CODES} or {_HALVES}), got {kind}.")
    kind, _, _, flags, both = state
    if kind == _CODES and list(flags) != [1]:
        raise ValueError(
            "what comes in has all eight bits in this state (reduce_range=False), and seven here, as in what PyTorch's "
            "quantize_dynamic makes: quantize the float model here."
        )
    if not isinstance(both, tuple | list) or len(both) != 2:
        raise ValueError(f"expected two packed weights, got {_called(both)}.")
    return [parts_of_linear(one) for one in both]


def _state(given: Any, name: str) -> Any:
    if isinstance(given, ScriptObject) and given.name == name:
        return given.state
    raise ValueError(f"expected a {name.rpartition('.')[2]}, got {_called(given)}{advice_for(given)}.")


def advice_for(given: Any) -> str:
    """Return what to do with a value of PyTorch's, which is read from its files only; empty for others."""
    if type(given).__module__.partition(".")[0] != "torch":
        return ""
    return ": write PyTorch's state to a file by torch.save, and read that by wb.load"


def _called(given: Any) -> str:
    if isinstance(given, ScriptObject):
        return given.name.rpartition(".")[2] or "an object without a state"
    return type(given).__name__
