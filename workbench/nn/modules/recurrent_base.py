"""What recurrent layers share: parameters, checks, and the way through layers and directions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from workbench.base.errors import DimensionError, DTypeError
from workbench.core.dispatch import numbers
from workbench.core.op import ops
from workbench.core.value import dims_of
from workbench.nn import init
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.nn.positional_dims import check_places
from workbench.nn.spatial_names import require_size
from workbench.nn.utils.rnn import PackedSequence
from workbench.ops.nn.recurrent.functions import swapped, through_layers
from workbench.tensor.factories import empty

__all__ = ["RNNBase", "draw_evenly", "refuse_codes", "through_packed"]

# The gates lie below each other in each weight, in PyTorch's order: i, f, g, o, and r, z, n.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def draw_evenly(module: Module, size: int) -> None:
    """Draw all parameters of a recurrent layer: U(-b, b), b = 1 / √hidden_size."""
    bound = 1.0 / math.sqrt(size) if size > 0 else 0.0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


def refuse_codes(word: str, input: Any) -> None:
    """Raise `DTypeError` where a recurrent layer in floating point, called `word`, is given codes."""
    # What is no tensor is refused by the ops.
    if getattr(getattr(input, "dtype", None), "is_quantized", False):
        raise DTypeError(
            f"{word} computes with numbers, and was given codes, {input.dtype.name}: call .dequantize() on its input; "
            "in a model that is prepared, put a DeQuantStub before the layer and a QuantStub behind it"
        )


class RNNBase(Module):
    """What RNN, LSTM and GRU share: parameters by layer and direction, checks, and the way through the layers.

    `mode` is ``"RNN_TANH"``, ``"RNN_RELU"``, ``"LSTM"`` or ``"GRU"``. Parameters of layer k are ``weight_ih_lk``
    [gates·hidden, in_features], ``weight_hh_lk`` [gates·hidden, hidden], ``bias_ih_lk``, ``bias_hh_lk`` and, with
    `proj_size`, ``weight_hr_lk`` [proj_size, hidden]; those of the other direction end in ``_reverse``.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_settings(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        # Names, so that a copy finds its own parameters, and `to` those that are there now.
        self._all_weights: list[list[str]] = []
        rows, width = _GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 2 if bidirectional else 1]:
                features = input_size if layer == 0 else width * (2 if bidirectional else 1)
                made: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
                    "weight_ih": ((rows, features), ("gates", "in_features")),
                    "weight_hh": ((rows, width), ("gates", "hidden")),
                }
                if bias:
                    made |= {"bias_ih": ((rows,), ("gates",)), "bias_hh": ((rows,), ("gates",))}
                if proj_size:
                    # Behind the biases, as in PyTorch.
                    made["weight_hr"] = ((proj_size, hidden_size), ("hidden", "cell"))
                for name, (sizes, labels) in made.items():
                    weight = Parameter(empty(*sizes, device=device, dtype=dtype), dim_labels=labels)
                    setattr(self, f"{name}_l{layer}{suffix}", weight)
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in made])
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: U(-b, b), b = 1 / √hidden_size."""
        draw_evenly(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing: memory is laid out as the kernels want it. For the sake of models that say it."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Parameter]:
        """The parameters of all layers and directions, one after the other, as ``wb.lstm`` takes them."""
        return [getattr(self, name) for names in self._all_weights for name in names]

    # ------------------------------------------------------------------------------------- what is checked

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """Raise where the input's type or sizes are not those of the layer."""
        refuse_codes(type(self).__name__, input)
        weight = getattr(self, self._all_weights[0][0])
        # The mistake that people make, a float64 array from NumPy. Other types are for the ops to refuse.
        if {input.dtype.name, weight.dtype.name} == {"float32", "float64"}:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        sizes, expected = dims_of(input).sizes, 3 if batch_sizes is None else 2
        if len(sizes) != expected:
            raise self._refuse(f"input must have {expected} dimensions, got {len(sizes)}", input)
        if sizes[-1] != self.input_size:
            raise self._refuse(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {sizes[-1]}",
                input,
            )

    def _refuse(self, why: str, value: Any) -> DimensionError:
        return DimensionError(why, op=type(self).__name__, operands=(dims_of(value).operand("input"),))

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """Return the sizes of the first state: [layers·directions, N, hidden]."""
        sizes = dims_of(input).sizes
        batch = (
            int(numbers(batch_sizes)[0]) if batch_sizes is not None else sizes[0 if self.batch_first else 1]
        )
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Any, expected_hidden_size: tuple[int, ...], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise where a state has other sizes."""
        if dims_of(hx).sizes != tuple(expected_hidden_size):
            raise self._refuse(msg.format(tuple(expected_hidden_size), list(dims_of(hx).sizes)), hx)

    def _check_states(self, input: Any, states: tuple[Any, ...], batch_sizes: Any) -> None:
        expected = self.get_expected_hidden_size(input, batch_sizes)
        if len(states) == 1:
            self.check_hidden_size(states[0], expected)
            return
        for k, (state, width) in enumerate(zip(states, (expected[2], self.hidden_size), strict=True)):
            # With a projection h is narrower than c.
            self.check_hidden_size(state, (*expected[:2], width), f"Expected hidden[{k}] size {{}}, got {{}}")

    # --------------------------------------------------------------------------------------------- the way

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the output of the last layer at every step, and the state(s) of all layers after the last step."""
        given = None if hx is None else self._given(hx)
        if isinstance(input, PackedSequence):
            return self._packed(input, given)
        ndim = len(input.payload.shape)
        if ndim not in (2, 3):
            raise ValueError(f"{self._word()}: Expected input to be 2D or 3D, got {ndim}D tensor instead")
        batch_dim = 0 if self.batch_first else 1
        if ndim == 3:
            check_places(type(self).__name__, input, N=batch_dim, T=1 - batch_dim)
        for one in given or ():
            if len(dims_of(one).sizes) != ndim:
                raise self._refuse(
                    f"For {'batched' if ndim == 3 else 'unbatched'} {ndim}-D input, hx "
                    f"{'and cx ' if len(given or ()) == 2 else ''}should also be {ndim}-D but got "
                    f"{len(dims_of(one).sizes)}-D tensor",
                    one,
                )
        if ndim == 2:
            input = ops.unsqueeze(input, dim=batch_dim, name=None)
            # States are [layers, N, hidden], whatever `batch_first` says: so it is in PyTorch.
            given = None if given is None else tuple(ops.unsqueeze(one, dim=1, name=None) for one in given)
        self.check_input(input, None)
        if given is not None:
            self._check_states(input, given, None)
        output, last = self._through(swapped(input) if self.batch_first else input, given, None)
        output = swapped(output) if self.batch_first else output
        if ndim == 2:
            output = ops.squeeze(output, dim=(batch_dim,))
            last = tuple(ops.squeeze(one, dim=(1,)) for one in last)
        return output, last if self.mode == "LSTM" else last[0]

    def _packed(self, input: PackedSequence, given: tuple[Any, ...] | None) -> Any:
        self.check_input(input.data, input.batch_sizes)

        def run(rows: Any, states: tuple[Any, ...] | None, batch_sizes: tuple[int, ...]) -> Any:
            if states is not None:
                self._check_states(rows, states, input.batch_sizes)
            return self._through(rows, states, batch_sizes)

        output, last = through_packed(input, given, run)
        return output, last if self.mode == "LSTM" else last[0]

    def _weights(self) -> list[list[Any]]:
        """Return what each layer and direction computes with."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def _through(
        self, input: Any, given: tuple[Any, ...] | None, batch_sizes: tuple[int, ...] | None
    ) -> tuple[Any, tuple[Any, ...]]:
        """Go through the layers; return the output, and the last states stacked."""
        return through_layers(
            self.mode, input, given, self._weights(),
            biases=self.bias, dropout=self.dropout, train=self.training,
            directions=2 if self.bidirectional else 1, batch_sizes=batch_sizes,
        )  # fmt: skip

    def _given(self, hx: Any) -> tuple[Any, ...]:
        """Return the first states that were given, one after the other."""
        if self.mode != "LSTM":
            return (hx,)
        if not isinstance(hx, tuple | list) or len(hx) != 2:
            raise TypeError(f"LSTM takes its first states as a pair (h, c), got {type(hx).__name__}")
        return tuple(hx)

    def _word(self) -> str:
        return self.mode.partition("_")[0]

    def extra_repr(self) -> str:
        """Return sizes, and what differs from the defaults."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
            ("bidirectional", False),
        ):  # fmt: skip
            value = getattr(self, name)
            parts += [f"{name}={value}"] if value != usual else []
        return ", ".join(parts)


def _check_settings(
    mode: str,
    input_size: Any,
    hidden_size: Any,
    num_layers: Any,
    bias: Any,
    batch_first: Any,
    dropout: Any,
    proj_size: int,
) -> None:
    if mode not in _GATES:
        raise ValueError(f"Unrecognized RNN mode: {mode}; it is one of {', '.join(_GATES)}")
    if not isinstance(dropout, int | float) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, "
            f"got {dropout!r}"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            UserWarning,
            # Over the constructors, to the line that makes the layer.
            stacklevel=4,
        )
    for label, flag in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(flag, bool):
            raise TypeError(f"{label} should be of type bool, got: {type(flag).__name__}")
    for label, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(size, int):
            raise TypeError(f"{label} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{label} must be greater than zero, got {size}")
    require_size(1, num_layers=num_layers)
    if proj_size < 0:
        raise ValueError(
            f"proj_size should be a positive integer or zero to disable projections, got {proj_size}"
        )
    if proj_size >= hidden_size:
        raise ValueError(f"proj_size has to be smaller than hidden_size, got {proj_size} and {hidden_size}")


def through_packed(
    input: PackedSequence, given: tuple[Any, ...] | None, run: Callable[..., tuple[Any, tuple[Any, ...]]]
) -> tuple[PackedSequence, tuple[Any, ...]]:
    """Return what ``run(rows, states, batch_sizes)`` makes of packed rows.

    First and last states [layers, N, hidden] are in the caller's order of the sequences; those that are packed stand
    longest first.
    """
    if given is not None and input.sorted_indices is not None:
        given = tuple(_ordered(one, input.sorted_indices) for one in given)
    output, last = run(input.data, given, tuple(numbers(input.batch_sizes).tolist()))
    if input.unsorted_indices is not None:
        last = tuple(_ordered(one, input.unsorted_indices) for one in last)
    return input.with_data(output), tuple(_batch_named(one, input.dims[1]) for one in last)


def _ordered(state: Any, order: Any) -> Any:
    """Return a state [layers, N, hidden] with its sequences in another order."""
    return ops.pick(state, ops.rename(order, names=None) if order._names else order, dims=(1,))


def _batch_named(state: Any, name: str | None) -> Any:
    """Give the batch dim of a state the name that it had before the sequences were packed."""
    names = dims_of(state).names
    if name is None or names[1] is not None or name in names:
        return state
    return ops.rename(state, names=(names[0], name, *names[2:]))
