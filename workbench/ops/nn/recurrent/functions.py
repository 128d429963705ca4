"""Recurrent layers and their single steps as functions of their weights: what the modules call, and programs may."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from workbench.base.dims import new_name
from workbench.core.dispatch import numbers
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import Value, dims_of
from workbench.ops.contract.matmul import LINEAR
from workbench.ops.nn.recurrent.gru import GRU
from workbench.ops.nn.recurrent.lstm import LSTM
from workbench.ops.nn.recurrent.rnn import RNN
from workbench.ops.offer import offered
from workbench.ops.random.dropout import dropout as dropped
from workbench.ops.shape.creation import filled

__all__ = [
    "gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell", "swapped",
    "through_layers",
]  # fmt: skip


def swapped(value: Any) -> Any:
    """Return the value with its first two dims in the other order."""
    return ops.permute(value, dim=(1, 0, *range(2, len(value.payload.shape))))


def through_layers(
    mode: str,
    input: Any,
    states: tuple[Any, ...] | None,
    weights: Sequence[Sequence[Any]],
    *,
    biases: bool,
    dropout: float,
    train: bool,
    directions: int,
    batch_sizes: tuple[int, ...] | None = None,
    layer: Callable[..., tuple[Any, ...]] | None = None,
) -> tuple[Any, tuple[Any, ...]]:
    """Go through the layers of a mode of `RNNBase`; return the output, and the last states of all layers stacked.

    `weights` are those of each layer and direction, `states` [layers·directions, N, …], or None for zeros. `layer` is
    what runs one of them: `_layer` for weights of floats.
    """
    run = layer or _layer
    batch = input.payload.shape[1] if batch_sizes is None else batch_sizes[0]
    found: list[tuple[Any, ...]] = []
    for place in range(0, len(weights), directions):
        outputs = []
        for direction in range(directions):
            own = weights[place + direction]
            if states is None:
                first = _zeros(mode, own, batch, input.payload.dtype)
            else:
                first = tuple(ops.index(one, key=(place + direction,)) for one in states)
            output, *last = run(mode, input, first, own, biases, direction == 1, batch_sizes)
            outputs.append(output)
            found.append(tuple(last))
        input = ops.cat(*outputs, dim=len(output.payload.shape) - 1) if directions == 2 else output
        # Between layers, not behind the last.
        if dropout and place + directions < len(weights):
            input = dropped(input, dropout, train)
    return input, tuple(_stacked([one[k] for one in found]) for k in range(len(found[0])))


def _zeros(mode: str, weights: Sequence[Any], batch: Any, dtype: Any) -> tuple[Any, ...]:
    # What the state is multiplied with says how wide it is, with a projection, too.
    rows, width = weights[1].payload.shape
    widths = (width, rows // 4) if mode == "LSTM" else (width,)
    return tuple(filled((batch, one), 0, dtype) for one in widths)


def _layer(
    mode: str,
    input: Any,
    states: Sequence[Any],
    weights: Sequence[Any],
    biases: bool,
    reverse: bool,
    batch_sizes: Any,
) -> tuple[Any, ...]:
    """Run one layer in one direction; return its output and its last states."""
    w_ih, w_hh, *rest = weights
    added, projection = (rest[:2], rest[2:]) if biases else ([], rest)
    way = {"reverse": reverse, "batch_sizes": batch_sizes}
    if mode == "GRU":
        # The reset gate weighs the state's part with its bias, so the two biases cannot be added beforehand.
        pre = LINEAR(input, w_ih, *added[:1])
        # The rest is for the gradient.
        return tuple(GRU(pre, *states, w_hh, *added[1:], **way))[:2]
    pre = LINEAR(input, w_ih, ops.add(*added)) if added else LINEAR(input, w_ih)
    if mode == "LSTM":
        return tuple(LSTM(pre, *states, w_hh, *projection, **way))[:3]
    return tuple(RNN(pre, *states, w_hh, relu=mode == "RNN_RELU", **way))


def _stacked(states: list[Any]) -> Any:
    """Put the states of layers and directions together: [layers, N, hidden]."""
    names = dims_of(states[0]).names
    name = new_name("layers", names, names)
    several = [ops.unsqueeze(one, dim=0, name=name) for one in states]
    return several[0] if len(several) == 1 else ops.cat(*several, dim=0)


# --------------------------------------------------------------------------------------------- whole layers

_SEQUENCE = (
    "input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first",
)  # fmt: skip
_PACKED = ("data", "batch_sizes", "hx", "params", *_SEQUENCE[3:8])


def _called(mode: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """Read a call of one of the two forms, and run the layers."""
    word = mode.lower()
    # The states of an LSTM are a list, those of the others a tensor, as sizes of a packed batch are.
    place = 1 if mode == "LSTM" else 2
    packed = "batch_sizes" in keywords or (len(arguments) > place and isinstance(arguments[place], Value))
    labels = _PACKED if packed else _SEQUENCE
    given = dict(zip(labels, arguments, strict=False))
    wrong = [name for name in keywords if name not in labels or name in given]
    given |= keywords
    if wrong or len(arguments) > len(labels) or len(given) < len(labels):
        raise TypeError(
            f"{word} takes {', '.join(labels)}; it was given {len(arguments)} and {sorted(keywords)}"
        )
    directions = 2 if given["bidirectional"] else 1
    count, params = given["num_layers"] * directions, list(given["params"])
    each = len(params) // max(count, 1)
    if not count or len(params) != count * each or each < 2 + 2 * bool(given["has_biases"]):
        raise ValueError(
            f"{word}: {len(params)} weights are not those of {given['num_layers']} layers in {directions} directions"
        )
    states = tuple(given["hx"]) if mode == "LSTM" else (given["hx"],)
    input = given["data"] if packed else given["input"]
    turned = not packed and given["batch_first"]
    output, last = through_layers(
        mode,
        swapped(input) if turned else input,
        states,
        [params[i * each : (i + 1) * each] for i in range(count)],
        biases=given["has_biases"],
        dropout=given["dropout"],
        train=given["train"],
        directions=directions,
        batch_sizes=tuple(numbers(given["batch_sizes"]).tolist()) if packed else None,
    )
    return (swapped(output) if turned else output), *last


@overload
def lstm(
    input: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]: ...  # fmt: skip
@overload
def lstm(
    data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]: ...  # fmt: skip
@offered("workbench")
def lstm(*arguments: Any, **keywords: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return what layers of long short-term memory give of their weights: output, last h and last c.

    Input [T, N, features] with the first states `hx`, h and c [layers·directions, N, …], and `params`, the weights of
    all layers and directions in the order of `nn.LSTM`'s parameters; or rows that are packed, with their `batch_sizes`.
    Raises ValueError where there are not as many weights as layers need. Hochreiter and Schmidhuber 1997.

    >>> import workbench as wb
    >>> layer = wb.nn.LSTM(3, 5)
    >>> start = [wb.zeros(1, 2, 5), wb.zeros(1, 2, 5)]
    >>> y, h, c = wb.lstm(wb.ones(4, 2, 3), start, list(layer.parameters()), True, 1, 0.0, False, False, False)
    >>> y.shape, bool((y == layer(wb.ones(4, 2, 3))[0]).all())
    ((4, 2, 5), True)
    """
    return _called("LSTM", arguments, keywords)


@overload
def gru(
    input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@overload
def gru(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@offered("workbench")
def gru(*arguments: Any, **keywords: Any) -> tuple[Tensor, Tensor]:
    """Return what layers of gated recurrent units give of their weights: output and last state.

    Arguments as for `lstm`, with one first state [layers·directions, N, hidden] and the weights of `nn.GRU`.
    Cho et al. 2014.

    >>> import workbench as wb
    >>> layer = wb.nn.GRU(3, 5)
    >>> start = wb.zeros(1, 2, 5)
    >>> y, h = wb.gru(wb.ones(4, 2, 3), start, list(layer.parameters()), True, 1, 0.0, False, False, False)
    >>> y.shape, bool((y == layer(wb.ones(4, 2, 3))[0]).all())
    ((4, 2, 5), True)
    """
    return _called("GRU", arguments, keywords)


@overload
def rnn_tanh(
    input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@overload
def rnn_tanh(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@offered("workbench")
def rnn_tanh(*arguments: Any, **keywords: Any) -> tuple[Tensor, Tensor]:
    """Return what layers of Elman's kind, with tanh, give of their weights: output and last state.

    Arguments as for `lstm`, with one first state [layers·directions, N, hidden] and the weights of `nn.RNN`.
    Elman 1990.

    >>> import workbench as wb
    >>> layer = wb.nn.RNN(3, 5)
    >>> start = wb.zeros(1, 2, 5)
    >>> y, h = wb.rnn_tanh(wb.ones(4, 2, 3), start, list(layer.parameters()), True, 1, 0.0, False, False, False)
    >>> y.shape, bool((y == layer(wb.ones(4, 2, 3))[0]).all())
    ((4, 2, 5), True)
    """
    return _called("RNN_TANH", arguments, keywords)


@overload
def rnn_relu(
    input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@overload
def rnn_relu(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@offered("workbench")
def rnn_relu(*arguments: Any, **keywords: Any) -> tuple[Tensor, Tensor]:
    """Return what layers of Elman's kind, with max(0, …), give of their weights: output and last state.

    Arguments as for `lstm`, with one first state [layers·directions, N, hidden] and the weights of `nn.RNN`.
    Elman 1990.

    >>> import workbench as wb
    >>> layer = wb.nn.RNN(3, 5, nonlinearity="relu")
    >>> start = wb.zeros(1, 2, 5)
    >>> y, h = wb.rnn_relu(wb.ones(4, 2, 3), start, list(layer.parameters()), True, 1, 0.0, False, False, False)
    >>> y.shape, bool((y == layer(wb.ones(4, 2, 3))[0]).all())
    ((4, 2, 5), True)
    """
    return _called("RNN_RELU", arguments, keywords)


# -------------------------------------------------------------------------------------------- single steps


def _step(mode: str, input: Any, states: Sequence[Any], weights: Sequence[Any]) -> tuple[Any, ...]:
    # One step is a packed batch of which every sequence has length 1.
    own = [one for one in weights if one is not None]
    return _layer(mode, input, states, own, len(own) > 2, False, (input.payload.shape[0],))


@offered("workbench")
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the next h and c [N, hidden] of a step of long short-term memory; see `nn.LSTMCell`.

    >>> import workbench as wb
    >>> cell, start = wb.nn.LSTMCell(3, 5), [wb.zeros(2, 5), wb.zeros(2, 5)]
    >>> h, c = wb.lstm_cell(wb.ones(2, 3), start, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    >>> bool((h == cell(wb.ones(2, 3))[0]).all())
    True
    """
    y, h, c = _step("LSTM", input, hx, (w_ih, w_hh, b_ih, b_hh))
    # The states of packed sequences have no name for the batch; what one step gives has it.
    names = dims_of(y).names
    return _renamed(h, names), _renamed(c, names)


def _renamed(value: Any, names: tuple[str | None, ...]) -> Any:
    return value if dims_of(value).names == names else ops.rename(value, names=names)


@offered("workbench")
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """Return the next state [N, hidden] of a step of gated recurrent units; see `nn.GRUCell`.

    >>> import workbench as wb
    >>> cell, start = wb.nn.GRUCell(3, 5), wb.zeros(2, 5)
    >>> h = wb.gru_cell(wb.ones(2, 3), start, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    >>> bool((h == cell(wb.ones(2, 3))).all())
    True
    """
    return _step("GRU", input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]  # type: ignore[no-any-return]


@offered("workbench")
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """Return the next state [N, hidden] of a step of Elman's kind, with tanh; see `nn.RNNCell`.

    >>> import workbench as wb
    >>> cell, start = wb.nn.RNNCell(3, 5), wb.zeros(2, 5)
    >>> h = wb.rnn_tanh_cell(wb.ones(2, 3), start, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    >>> bool((h == cell(wb.ones(2, 3))).all())
    True
    """
    return _step("RNN_TANH", input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]  # type: ignore[no-any-return]


@offered("workbench")
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """Return the next state [N, hidden] of a step of Elman's kind, with max(0, …); see `nn.RNNCell`.

    >>> import workbench as wb
    >>> cell, start = wb.nn.RNNCell(3, 5, nonlinearity="relu"), wb.zeros(2, 5)
    >>> h = wb.rnn_relu_cell(wb.ones(2, 3), start, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    >>> bool((h == cell(wb.ones(2, 3))).all())
    True
    """
    return _step("RNN_RELU", input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]  # type: ignore[no-any-return]
