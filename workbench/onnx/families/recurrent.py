"""Recurrent layers: RNN, GRU and LSTM, in one direction or both, for sequences of different lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.op import ops
from workbench.onnx.errors import OnnxError
from workbench.onnx.table import find, operator
from workbench.onnx.values import wb

__all__: list[str] = []

Activation = Callable[[Any], Any]

_WITH_ALPHA = {"LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "Elu": 1.0}
_PLAIN: dict[str, Activation] = {
    "Relu": wb.relu, "Tanh": wb.tanh, "Sigmoid": wb.sigmoid, "Softsign": wb.softsign, "Softplus": wb.softplus,
}  # fmt: skip


def _activations(
    names: Any, alphas: Any, betas: Any, default: list[str], directions: int
) -> list[Activation]:
    """Return the functions of all directions, in order; each takes its numbers from the lists as it needs them."""
    alpha, beta = iter(alphas or ()), iter(betas or ())
    found: list[Activation] = []
    for name in names or default * directions:
        word = next(
            (
                one
                for one in (*_PLAIN, *_WITH_ALPHA, "HardSigmoid", "Affine", "ScaledTanh")
                if one.lower() == name.lower()
            ),
            None,
        )
        if word is None:
            raise OnnxError(f"the activation {name!r} is none of a recurrent layer")
        found.append(_activation(word, alpha, beta))
    if len(found) != len(default) * directions:
        raise OnnxError(f"{len(found)} activations, and {len(default) * directions} are needed")
    return found


def _activation(word: str, alpha: Any, beta: Any) -> Activation:
    if word in _PLAIN:
        return _PLAIN[word]
    if word in _WITH_ALPHA:
        known = find(word, "", 16)
        value = next(alpha, _WITH_ALPHA[word])
        assert known is not None
        return lambda x: known.call(x, alpha=value)
    a, b = (
        next(alpha, 0.2 if word == "HardSigmoid" else 1.0),
        next(beta, 0.5 if word == "HardSigmoid" else 0.0),
    )
    if word == "HardSigmoid":
        return lambda x: wb.clamp(x * a + b, 0, 1)
    return (lambda x: x * a + b) if word == "Affine" else (lambda x: a * wb.tanh(b * x))


class _Layer:
    """What the three have in common: directions, lengths, the loop over time."""

    gates: int
    default: list[str]
    order: tuple[int, ...]
    """Which gate of the format stands at each place in ours."""

    def __init__(self, x: Any, w: Any, r: Any, b: Any, lengths: Any, attributes: dict[str, Any]) -> None:
        self.direction = attributes.get("direction", "forward")
        if self.direction not in ("forward", "reverse", "bidirectional"):
            raise OnnxError(f"a direction is forward, reverse or bidirectional, not {self.direction!r}")
        self.count = 2 if self.direction == "bidirectional" else 1
        self.batch_first = bool(attributes.get("layout", 0))
        self.x = x.transpose(0, 1) if self.batch_first else x
        self.w, self.r, self.b, self.lengths = w, r, b, lengths
        self.clip = attributes.get("clip")
        self.hidden = r.shape[-1]
        self.names = [one.lower() for one in attributes.get("activations") or self.default * self.count]
        self.functions = _activations(
            attributes.get("activations"), attributes.get("activation_alpha"), attributes.get("activation_beta"),
            self.default, self.count,
        )  # fmt: skip

    def state(self, given: Any) -> Any:
        """Return the first state of all directions, `[D, N, H]`."""
        if given is None:
            return wb.zeros([self.count, self.x.shape[1], self.hidden], dtype=self.x.dtype)
        return given.transpose(0, 1) if self.batch_first else given

    def bound(self, gate: Any) -> Any:
        """Cut what goes into an activation."""
        return gate if self.clip is None else wb.clamp(gate, -self.clip, self.clip)

    def turned(self, x: Any) -> Any:
        """Return sequences from their end to their beginning; what is behind an end stays there."""
        if self.lengths is None:
            return x.flip(0)
        steps = wb.arange(x.shape[0]).reshape(-1, 1)
        ends = self.lengths.long().reshape(1, -1)
        places = wb.where(steps < ends, ends - 1 - steps, steps)
        return wb.gather(x, 0, places.unsqueeze(-1).expand(x.shape))

    def step(self, x: Any, state: tuple[Any, ...], place: int) -> tuple[Any, ...]:
        """Return the next state of a direction; `x` is what the inputs give to each gate."""
        raise OnnxError("a recurrent layer has a step")

    def run(self, first: tuple[Any, ...], outputs: int) -> tuple[Any, ...]:
        """Return all hidden states `[T, D, N, H]`, and the last of each state, `[D, N, H]`."""
        rows, lasts = [], []
        for place in range(self.count):
            back = self.direction == "reverse" or place == 1
            states = tuple(one[place] for one in first)
            if self.plain(place):
                whole_rows, *ends_here = self.at_once(place, back, states)
                rows.append(whole_rows)
                lasts.append(tuple(ends_here))
                continue
            x = self.turned(self.x) if back else self.x
            whole = wb.matmul(x, self.w[place].t()) + self.offset(place)
            hidden = []
            for t in range(x.shape[0]):
                following = self.step(whole[t], states, place)
                if self.lengths is not None:
                    alive = (self.lengths > t).reshape(-1, 1)
                    following = tuple(
                        wb.where(alive, new, old) for new, old in zip(following, states, strict=True)
                    )
                    hidden.append(wb.where(alive, following[0], wb.zeros_like(following[0])))
                else:
                    hidden.append(following[0])
                states = following
            found = wb.stack(hidden)
            rows.append(self.turned(found) if back else found)
            lasts.append(states)
        all_rows = wb.stack(rows, dim=1)
        ends = [wb.stack([one[i] for one in lasts]) for i in range(len(first))]
        if self.batch_first:
            return all_rows.permute(2, 0, 1, 3), *(one.transpose(0, 1) for one in ends)
        return all_rows, *ends

    def plain(self, place: int) -> bool:
        """Say whether a direction is computed as the house's own layers are: in one op, for any number of steps."""
        count = len(self.default)
        own = [one.lower() for one in self.default]
        return (
            self.lengths is None and self.clip is None and self.x.shape[0] != 0
            and self.names[place * count : (place + 1) * count] == own
        )  # fmt: skip

    def at_once(self, place: int, back: bool, states: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return all hidden states of a direction in the order of time, and the last of each state."""
        raise OnnxError("a recurrent layer has an op")

    def ordered(self, weights: Any) -> Any:
        """Return weights with the gates in our order."""
        parts = wb.split(weights, self.hidden, 0)
        return weights if len(parts) == 1 else wb.cat([parts[i] for i in self.order])

    def offset(self, place: int) -> Any:
        """Return what is added to the gates whatever the state is."""
        if self.b is None:
            return 0
        width = self.gates * self.hidden
        return self.b[place][:width] + self.b[place][width:]


class _Rnn(_Layer):
    gates, default, order = 1, ["Tanh"], (0,)

    def plain(self, place: int) -> bool:
        return super().plain(place) or (
            self.lengths is None
            and self.clip is None
            and self.x.shape[0] != 0
            and self.names[place] == "relu"
        )

    def at_once(self, place: int, back: bool, states: tuple[Any, ...]) -> tuple[Any, ...]:
        bias = None if self.b is None else self.offset(place)
        pre, relu = wb.linear(self.x, self.w[place], bias), self.names[place] == "relu"
        found = ops.rnn(pre, *states, self.r[place], relu=relu, reverse=back, batch_sizes=None)
        return found[0], found[1]

    def step(self, x: Any, state: tuple[Any, ...], place: int) -> tuple[Any, ...]:
        return (self.functions[place](self.bound(x + wb.matmul(state[0], self.r[place].t()))),)


class _Gru(_Layer):
    gates, default, order = 3, ["Sigmoid", "Tanh"], (1, 0, 2)
    linear_before_reset = False

    def plain(self, place: int) -> bool:
        return self.linear_before_reset and super().plain(place)

    def at_once(self, place: int, back: bool, states: tuple[Any, ...]) -> tuple[Any, ...]:
        width = 3 * self.hidden
        bias, rest = None, list[Any]()
        if self.b is not None:
            bias, rest = self.ordered(self.b[place][:width]), [self.ordered(self.b[place][width:])]
        pre = wb.linear(self.x, self.ordered(self.w[place]), bias)
        found = ops.gru(pre, *states, self.ordered(self.r[place]), *rest, reverse=back, batch_sizes=None)
        return found[0], found[1]

    def offset(self, place: int) -> Any:
        if self.b is None:
            return 0
        own, other = self.b[place][: 3 * self.hidden], self.b[place][3 * self.hidden :]
        if not self.linear_before_reset:
            return own + other
        # The last gate's is multiplied by the reset gate, and so is added later.
        return own + wb.cat([other[: 2 * self.hidden], wb.zeros_like(other[2 * self.hidden :])])

    def step(self, x: Any, state: tuple[Any, ...], place: int) -> tuple[Any, ...]:
        h, width = state[0], self.hidden
        f, g = self.functions[2 * place : 2 * place + 2]
        weights = self.r[place]
        both = x[:, : 2 * width] + wb.matmul(h, weights[: 2 * width].t())
        z, r = f(self.bound(both[:, :width])), f(self.bound(both[:, width:]))
        if self.linear_before_reset:
            inner = wb.matmul(h, weights[2 * width :].t())
            if self.b is not None:
                inner = inner + self.b[place][5 * width :]
            new = r * inner
        else:
            new = wb.matmul(r * h, weights[2 * width :].t())
        new = g(self.bound(x[:, 2 * width :] + new))
        return ((1 - z) * new + z * h,)


class _Lstm(_Layer):
    gates, default, order = 4, ["Sigmoid", "Tanh", "Tanh"], (0, 2, 3, 1)
    peepholes: Any = None
    input_forget = False

    def plain(self, place: int) -> bool:
        return self.peepholes is None and not self.input_forget and super().plain(place)

    def at_once(self, place: int, back: bool, states: tuple[Any, ...]) -> tuple[Any, ...]:
        bias = None if self.b is None else self.ordered(self.offset(place))
        pre = wb.linear(self.x, self.ordered(self.w[place]), bias)
        found = ops.lstm(pre, *states, self.ordered(self.r[place]), reverse=back, batch_sizes=None)
        return found[0], found[1], found[2]

    def step(self, x: Any, state: tuple[Any, ...], place: int) -> tuple[Any, ...]:
        h, c = state
        f, g, last = self.functions[3 * place : 3 * place + 3]
        width = self.hidden
        i, o, forget, cell = (x + wb.matmul(h, self.r[place].t())).split(width, dim=-1)
        seen = None if self.peepholes is None else self.peepholes[place].split(width)
        if seen is not None:
            i, forget = i + seen[0] * c, forget + seen[2] * c
        i = f(self.bound(i))
        forget = 1 - i if self.input_forget else f(self.bound(forget))
        c = forget * c + i * g(self.bound(cell))
        if seen is not None:
            o = o + seen[1] * c
        return f(self.bound(o)) * last(c), c


@operator("RNN", since=7)
def _rnn(
    x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None, *,
    activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int = 0, layout: int = 0, outputs: int,
) -> Any:  # fmt: skip
    layer = _Rnn(x, w, r, b, sequence_lens, _given(locals()))
    return layer.run((layer.state(initial_h),), outputs)


@operator("GRU", since=7)
def _gru(
    x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None, *,
    activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int = 0, layout: int = 0, linear_before_reset: int = 0, outputs: int,
) -> Any:  # fmt: skip
    layer = _Gru(x, w, r, b, sequence_lens, _given(locals()))
    layer.linear_before_reset = bool(linear_before_reset)
    return layer.run((layer.state(initial_h),), outputs)


@operator("LSTM", since=7)
def _lstm(
    x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None, initial_c: Any = None,
    p: Any = None, *, activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int = 0, input_forget: int = 0,
    layout: int = 0, outputs: int,
) -> Any:  # fmt: skip
    layer = _Lstm(x, w, r, b, sequence_lens, _given(locals()))
    layer.peepholes, layer.input_forget = p, bool(input_forget)
    return layer.run((layer.state(initial_h), layer.state(initial_c)), outputs)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that the three layers have in common."""
    shared = ("activation_alpha", "activation_beta", "activations", "clip", "direction", "layout")
    return {name: arguments[name] for name in shared}
