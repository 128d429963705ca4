"""Recurrent layers and cells with weights in codes: each product quantizes what comes into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.dtypes import qint8
from workbench.base.errors import DimensionError, QuantizationError
from workbench.core.value import dims_of
from workbench.nn import functional
from workbench.nn.modules.recurrent_base import through_packed
from workbench.nn.utils.rnn import PackedSequence
from workbench.ops.nn.recurrent.steps import steps_of
from workbench.ops.quantized.recurrent import recurrent_dynamic
from workbench.ops.shape.join import cat, stack
from workbench.quantization.quantized.dynamic.linear import affine, floats_of, weight_codes
from workbench.quantization.quantized.repacked import Repacked
from workbench.quantization.quantized.script_objects import (
    cell_object,
    linear_object,
    parts_of_cell,
    parts_of_linear,
)
from workbench.tensor import Tensor
from workbench.tensor.factories import zeros

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNCell"]

_WEIGHTS = ("weight_ih", "weight_hh")
_PROJECTION = "weight_hr"
_VALUES = "_all_weight_values"


class _Coded(Repacked):
    """What recurrent layers and cells share: weights in codes under the names that they had.

    A state has them packed, as PyTorch's does: an object has one product of a cell, or both of a layer and direction.
    """

    def __init__(self, module: Any) -> None:
        super().__init__()
        config = module.qconfig
        self.token = getattr(config.activation(), "granularity", "tensor") == "token"
        for name, parameter in module.named_parameters():
            coded = name.startswith((*_WEIGHTS, _PROJECTION))
            # An observer each: their ranges are their own.
            value = weight_codes(parameter, config.weight()) if coded else parameter.detach()
            self.register_buffer(name, value)
        self.input_size, self.hidden_size = module.input_size, module.hidden_size
        self.bias = module.bias
        self.eval()

    def _told(self, objects: dict[str, list[str]]) -> None:
        """Say under which key a state has which products."""
        self._objects = objects
        self.shown = tuple(
            one
            for key, products in objects.items()
            for product in products
            for kind in ("weight", "bias")
            for one in (f"{kind}_{product}", key)
        )

    def packed(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return the objects, and what PyTorch's layers have nothing of: weights of projections."""
        found = {}
        for key, products in self._objects.items():
            each = [linear_object(own.pop(f"weight_{one}"), own.pop(f"bias_{one}", None)) for one in products]
            found[key] = each[0] if len(each) == 1 else cell_object(*each)
        return {**found, **own}

    def unpacked(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return weights and biases of the objects."""
        own = dict(given)
        for key, products in self._objects.items():
            if key not in own:
                continue
            try:
                one = own.pop(key)
                parts = parts_of_cell(one) if len(products) > 1 else [parts_of_linear(one)]
                for product, (weight, bias) in zip(products, parts, strict=True):
                    own |= self._named(product, weight, bias)
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None
        return own

    def _named(self, product: str, weight: Any, bias: Any) -> dict[str, Any]:
        found = {f"weight_{product}": weight if weight.is_quantized else weight.half()}
        if self.bias and bias is not None:
            found[f"bias_{product}"] = bias
        elif bias is not None and bias.any():
            raise ValueError("it has biases other than 0, and the layer here none (bias=False).")
        return found

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return the dynamic form of a layer with a qconfig."""
        return cls(module)

    states = 1

    def _given(self, hx: Any) -> tuple[Any, ...] | None:
        """Return the first states that were given, one after the other."""
        if hx is None or self.states == 1:
            return None if hx is None else (hx,)
        if not isinstance(hx, tuple | list) or len(hx) != 2:
            raise TypeError(
                f"{type(self).__name__} takes its first states as a pair (h, c), got {type(hx).__name__}"
            )
        return tuple(hx)

    def _require_sizes(self, given: tuple[Any, ...], expected: Sequence[tuple[int, ...]]) -> None:
        """Raise `DimensionError` for states of other sizes: those of one entry would go on without a word."""
        for place, (one, sizes) in enumerate(zip(given, expected, strict=True)):
            if tuple(one.shape) != sizes:
                raise DimensionError(
                    f"Expected hidden[{place}] size {sizes}, got {list(one.shape)}",
                    op=type(self).__name__,
                    operands=(dims_of(one).operand("hx"),),
                )

    def _product(self, x: Any, what: str, suffix: str = "") -> Any:
        bias = getattr(self, f"bias_{what}{suffix}", None) if self.bias else None
        return affine(x, getattr(self, f"weight_{what}{suffix}"), bias, self.token)

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"


def _lstm_step(inner: Any, state: Any, hidden: Any) -> tuple[Any, Any]:
    i, f, g, o = (inner + hidden).chunk(4, -1)
    cell = functional.sigmoid(f) * state[1] + functional.sigmoid(i) * g.tanh()
    out = functional.sigmoid(o) * cell.tanh()
    return out, (out, cell)


def _gru_step(inner: Any, state: Any, hidden: Any) -> tuple[Any, Any]:
    (r, z, n), (a, b, c) = inner.chunk(3, -1), hidden.chunk(3, -1)
    reset, keep = functional.sigmoid(r + a), functional.sigmoid(z + b)
    fresh = (n + reset * c).tanh()
    out = (state[0] - fresh) * keep + fresh
    return out, (out,)


class _Layers(_Coded):
    """Layers and directions of a recurrent network."""

    _version = 2
    step: Any
    weight_ih_l0: Tensor

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.proj_size = getattr(module, "proj_size", 0)
        self.num_layers, self.bidirectional = module.num_layers, module.bidirectional
        self.batch_first, self.dropout = module.batch_first, module.dropout
        suffixes = [
            f"_l{layer}{way}"
            for layer in range(self.num_layers)
            for way in ("", "_reverse")[: 1 + self.bidirectional]
        ]
        places = [f"{_VALUES}.{number}" for number in range(len(suffixes))]
        self.parts = dict.fromkeys([_VALUES, *places], 1)
        self._told(
            {f"{place}.param": [f"ih{one}", f"hh{one}"] for place, one in zip(places, suffixes, strict=True)}
        )

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Run over a sequence [T, N, in], [N, T, in] with `batch_first`, or packed ones; return it and last states."""
        given = self._given(hx)
        if isinstance(input, PackedSequence):
            packed, last = through_packed(input, given, self._through)
            return packed, last if self.states == 2 else last[0]
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D tensor instead"
            )
        single = input.ndim == 2
        x = input.unsqueeze(1) if single else input.transpose(0, 1) if self.batch_first else input
        if single and given is not None:
            given = tuple(one.unsqueeze(1) for one in given)
        x, last = self._through(x, given, None)
        if single:
            x, last = x.squeeze(1), tuple(one.squeeze(1) for one in last)
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, last if self.states == 2 else last[0]

    def _through(
        self, x: Any, given: tuple[Any, ...] | None, batch_sizes: tuple[int, ...] | None
    ) -> tuple[Any, tuple[Any, ...]]:
        """Run over a sequence [T, N, in], or packed rows; return the output and the last states."""
        if x.shape[-1] != self.input_size:
            raise QuantizationError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )
        x = floats_of(x)
        ways = 2 if self.bidirectional else 1
        batch = x.shape[1] if batch_sizes is None else batch_sizes[0]
        widths = (self.proj_size or self.hidden_size, self.hidden_size)[: self.states]
        sizes = [(self.num_layers * ways, batch, width) for width in widths]
        if given is not None:
            self._require_sizes(given, sizes)
        if not self.token and not self.proj_size and self.weight_ih_l0.dtype is qint8:
            # One program for all steps; what it quantizes is what `_run` quantizes.
            return recurrent_dynamic(
                type(self).__name__, x, given, self._weights(ways), biases=self.bias, directions=ways,
                batch_sizes=batch_sizes, reduce_range=True,
            )  # fmt: skip
        if given is None:
            given = tuple(zeros(*one) for one in sizes)
        return self._by_steps(x, given, ways, batch_sizes)

    def _weights(self, ways: int) -> list[list[Any]]:
        """Return what each layer and direction is multiplied with."""
        kinds = (*_WEIGHTS, "bias_ih", "bias_hh") if self.bias else _WEIGHTS
        return [
            [getattr(self, f"{kind}_l{layer}{'_reverse' if way else ''}") for kind in kinds]
            for layer in range(self.num_layers)
            for way in range(ways)
        ]

    def _by_steps(
        self, x: Any, first: tuple[Any, ...], ways: int, batch_sizes: tuple[int, ...] | None
    ) -> tuple[Any, tuple[Any, ...]]:
        """Run layer by layer and step by step; return the output and the last states."""
        ends: list[Any] = []
        for layer in range(self.num_layers):
            outs = []
            for way in range(ways):
                state = tuple(one[layer * ways + way] for one in first)
                suffix = f"_l{layer}{'_reverse' if way else ''}"
                out, last = self._run(x, state, suffix, way == 1, batch_sizes)
                outs.append(out)
                ends.append(last)
            x = outs[0] if ways == 1 else cat(outs, dim=-1)
        return x, tuple(stack([state[i] for state in ends], 0) for i in range(self.states))

    def _run(
        self, x: Any, state: tuple[Any, ...], suffix: str, backward: bool, batch_sizes: tuple[int, ...] | None
    ) -> tuple[Any, tuple[Any, ...]]:
        # All steps' inputs at once, under one scale, as in PyTorch.
        inner = self._product(x, "ih", suffix)
        rows = inner if batch_sizes is not None else inner.flatten(0, 1)
        outs: list[Any] = []
        for start, count in steps_of(x.shape, batch_sizes, backward):
            # Sequences that have ended, or not begun, keep their states.
            now, rest = tuple(one[:count] for one in state), tuple(one[count:] for one in state)
            hidden = self._product(now[0], "hh", suffix)
            out, now = type(self).step(rows[start : start + count], now, hidden)
            if self.proj_size:
                out = self._product(out, "hr", suffix)
                now = (out, *now[1:])
            state = tuple(
                cat(pair, dim=0) if len(pair[1]) else pair[0] for pair in zip(now, rest, strict=True)
            )
            outs.append(out)
        whole = outs[::-1] if backward else outs
        return (cat(whole, dim=0) if batch_sizes is not None else stack(whole, 0)), state

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}"


class LSTM(_Layers):
    """A long short-term memory with weights in codes."""

    step = staticmethod(_lstm_step)
    states = 2


class GRU(_Layers):
    """Gated recurrent units with weights in codes."""

    step = staticmethod(_gru_step)


class _Cell(_Coded):
    """One step."""

    step: Any

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self._told({f"_packed_weight_{product}": [product] for product in ("ih", "hh")})

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Make one step for rows [N, in]; states that are not given are zeros."""
        first, sizes = self._given(hx), [(*input.shape[:-1], self.hidden_size)] * self.states
        if first is None:
            first = tuple(zeros(*one) for one in sizes)
        self._require_sizes(first, sizes)
        inner, hidden = self._product(input, "ih"), self._product(first[0], "hh")
        _, state = self._step(inner, first, hidden)
        return state if self.states == 2 else state[0]

    def _step(self, inner: Any, state: tuple[Any, ...], hidden: Any) -> Any:
        return type(self).step(inner, state, hidden)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"{self.input_size}, {self.hidden_size}"


class LSTMCell(_Cell):
    """One step of an LSTM with weights in codes."""

    step = staticmethod(_lstm_step)
    states = 2


class GRUCell(_Cell):
    """One step of gated recurrent units with weights in codes."""

    step = staticmethod(_gru_step)


class RNNCell(_Cell):
    """One step of a plain recurrent network with weights in codes."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.nonlinearity = module.nonlinearity

    def _step(self, inner: Any, state: tuple[Any, ...], hidden: Any) -> Any:
        total = inner + hidden
        out = total.tanh() if self.nonlinearity == "tanh" else functional.relu(total)
        return out, (out,)
