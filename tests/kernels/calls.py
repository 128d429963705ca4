"""Calls of kernels beyond the samples of their ops: sizes that leave tails in vectors, and that several threads share.

Samples are small. Most grow by a rule, so that a new op's do too: each size of their shapes becomes another one in all
places (`grown`). Where sizes depend on each other (windows, gates, halves), calls are listed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from tests.kernels.judge import Call
from workbench.core.op import Op, ops

__all__ = ["LARGE", "WIDE", "grown", "listed", "samples", "single"]

WIDE = {2: 5, 3: 19, 4: 37, 5: 23, 6: 41}
"""Tails behind whole vectors, of 8 lanes and of 16."""
LARGE = {2: 11, 3: 67, 4: 515, 5: 7}
"""Work for several threads."""
MOST = 200_000
"""Values of an operand beyond which a test takes too long for what it finds."""


def single(one: Any) -> Any:
    """Return float64 samples as float32, what kernels are for."""
    return one.astype(np.float32) if isinstance(one, np.ndarray) and one.dtype == np.float64 else one


def samples(op: Op) -> Iterator[Call]:
    """Yield the op's own samples in float32."""
    for sample in op.samples():
        yield tuple(map(single, sample.inputs)), dict(sample.params)


def _larger(one: Any, sizes: dict[int, int]) -> Any:
    if isinstance(one, np.ndarray):
        return np.resize(one, [sizes.get(size, size) for size in one.shape]) if one.size else one
    return one


def _larger_param(name: str, one: Any, sizes: dict[int, int]) -> Any:
    if name == "sizes" or name.endswith("_shape"):
        return tuple(sizes.get(size, size) for size in one)
    return one


def grown(op: Op, sizes: dict[int, int]) -> Iterator[Call]:
    """Yield the op's samples with other sizes; those of which the op is no longer defined are left out."""
    if op.name in _WINDOWS:
        return
    for inputs, params in samples(op):
        more = (
            tuple(_larger(one, sizes) for one in inputs),
            {name: _larger_param(name, one, sizes) for name, one in params.items()},
        )
        if max((one.size for one in more[0] if isinstance(one, np.ndarray)), default=0) > MOST:
            continue
        try:
            with np.errstate(all="ignore"):
                op.forward(*more[0], **more[1])
        except (ValueError, IndexError, TypeError, ZeroDivisionError):
            continue
        yield more


def floats(*shape: int) -> Any:
    """Return numbers that are the same at every run."""
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def places(below: int, *shape: int) -> Any:
    """Return indices."""
    return np.random.default_rng([below, *shape]).integers(0, below, shape)


def _conv(n: int, *, part: str = "") -> Iterator[Call]:
    for channels, out, groups, stride, padding, dilation, window in (
        (3, 10, 1, 1, 1, 1, 3),
        (6, 9, 3, 2, 0, 1, 2),
        (17, 17, 17, 1, 2, 1, 3),
        # Groups of two, four and eight channels; a register is not filled, and its windows overlap or leave gaps.
        (20, 20, 10, 1, 1, 1, 4),
        (24, 24, 6, 2, 1, 1, 3),
        (16, 16, 2, 1, 2, 2, 3),
        # Groups in planes of their own, as many outputs as inputs and not.
        (32, 32, 2, 1, 1, 1, 3),
        (24, 40, 2, 2, 1, 1, 2),
        (16, 20, 1, 2, 1, 2, 3),
    ):
        spatial = (11, 13, 9)[:n] if n < 3 else (5, 6, 7)
        x, w = floats(2, channels, *spatial), floats(out, channels // groups, *(window,) * n)
        params = {
            "stride": (stride,) * n,
            "padding": (padding,) * n,
            "dilation": (dilation,) * n,
            "groups": groups,
        }
        if not part:
            yield (x, w, floats(out)), params
            continue
        along = [(size + 2 * padding - dilation * (window - 1) - 1) // stride + 1 for size in spatial]
        g = floats(2, out, *along)
        if part == "input_gradient":
            yield (g, w), {**params, "input_shape": x.shape}
        else:
            yield (g, x), {**params, "weight_shape": w.shape}


def _pool(n: int, name: str) -> Iterator[Call]:
    for channels, window, stride, padding in ((3, 2, 2, 0), (17, 3, 2, 1), (33, 3, 1, 1)):
        x = floats(3, channels, *(13, 11, 9)[:n])
        params: dict[str, Any] = {"kernel": (window,) * n, "stride": (stride,) * n, "padding": (padding,) * n}
        if name.startswith("max"):
            params["dilation"] = (1,) * n
        y = getattr(ops, name.removesuffix("_gradient")).forward(x, **params)
        if not name.endswith("_gradient"):
            yield (x,), params
        elif name.startswith("max"):
            yield (floats(*y[0].shape), y[1]), {"input_shape": x.shape}
        else:
            yield (floats(*y.shape),), {**params, "input_shape": x.shape}


def _recurrent(name: str) -> Iterator[Call]:
    gates, states = {"rnn": (1, 1), "gru": (3, 1), "lstm": (4, 2)}[name]
    for steps, many, hidden in ((3, 5, 17), (7, 33, 8)):
        inputs = [floats(steps, many, gates * hidden)]
        inputs += [floats(many, hidden) for _ in range(states)]
        inputs += [floats(gates * hidden, hidden)]
        for reverse in (False, True):
            more = {"relu": False} if name == "rnn" else {}
            yield tuple(inputs), {**more, "reverse": reverse, "batch_sizes": None}


def _attention(gradient: bool) -> Iterator[Call]:
    for queries, keys, width in ((300, 70, 12), (5, 9, 33)):
        q, k, v = floats(2, 3, queries, width), floats(2, 3, keys, width), floats(2, 3, keys, 20)
        for causal, dropout in ((False, 0.0), (True, 0.3)):
            params = {"scale": 0.3, "causal": causal, "dropout": dropout, "seed": 5}
            if gradient:
                y, normal = ops.attention.forward(q, k, v, **params)
                yield (floats(*y.shape), q, k, v, y, normal), params
            else:
                yield (q, k, v), params
                yield (q, k, v, floats(2, 1, queries, keys)), params


_SCORES = ((90, 37), (3, 7, 45), (2, 5, 9, 19))
"""Of rows, of places side by side, and of images, which may lie channels-last."""


_WINDOWS: dict[str, Callable[[], Iterator[Call]]] = {
    **{
        f"conv{n}d{'_' if part else ''}{part}": lambda n=n, part=part: _conv(n, part=part)  # type: ignore[misc]
        for n in (1, 2, 3)
        for part in ("", "input_gradient", "weight_gradient")
    },
    **{
        name: lambda n=n, name=name: _pool(n, name)  # type: ignore[misc]
        for n, kinds in ((1, ("max", "avg")), (2, ("max", "avg")), (3, ("max",)))
        for kind in kinds
        for name in (f"{kind}_pool{n}d", f"{kind}_pool{n}d_gradient")
    },
    "attention": lambda: _attention(False),
    "attention_gradient": lambda: _attention(True),
    **{name: lambda name=name: _recurrent(name) for name in ("rnn", "gru", "lstm")},  # type: ignore[misc]
}

_LISTED: dict[str, Callable[[], list[Call]]] = {
    "where": lambda: [
        ((floats(7, 37) > 0, floats(7, 37), 0.5), {}),
        ((floats(7, 37) > 0, floats(7, 37), floats(37, 7).T), {}),
        ((floats(3001) > 0, -1, floats(3001)), {}),
    ],
    "pow": lambda: [((np.abs(floats(5, 37)) + 0.1, p), {}) for p in (1, 2, 3, 3.0, 0.5, -0.5, -1, -2)],
    "gather": lambda: [
        ((floats(40, 70), places(70, 40, 19)), {"dim": 1}),
        ((floats(9, 5, 7), places(9, 20, 5, 7)), {"dim": 0}),
        ((places(9, 40, 70).astype(np.uint8), places(40, 33, 70)), {"dim": 0}),
    ],
    "scatter_add": lambda: [
        ((floats(40, 19), places(70, 40, 19)), {"dim": 1, "sizes": (40, 70)}),
        ((places(9, 20, 5, 7), places(9, 20, 5, 7)), {"dim": 0, "sizes": (9, 5, 7)}),
    ],
    "scatter_add_to": lambda: [
        ((floats(40, 70), floats(40, 19), places(70, 40, 19)), {"dim": 1}),
        ((floats(9, 5, 7), floats(20, 5, 7), places(9, 20, 5, 7)), {"dim": 0}),
    ],
    "pick": lambda: [
        ((floats(40, 7), places(40, 90)), {"dims": (0,)}),
        ((floats(5, 40, 3), places(40, 9, 11) - 20), {"dims": (1,)}),
        ((places(9, 40, 7).astype(np.int8), places(7, 5)), {"dims": (1,)}),
    ],
    "pick_add": lambda: [
        ((floats(90, 7), places(40, 90)), {"dims": (0,), "sizes": (40, 7)}),
        ((floats(5, 9, 11, 3), places(40, 9, 11) - 20), {"dims": (1,), "sizes": (5, 40, 3)}),
    ],
    "embedding_gradient": lambda: [((places(40, 9, 11), floats(9, 11, 5)), {"count": 40})],
    "glu": lambda: [((floats(5, 74),), {"dim": 1}), ((floats(6, 19, 3),), {"dim": 0})],
    "glu_gradient": lambda: [
        ((floats(5, 37), floats(5, 74)), {"dim": 1}),
        ((floats(3, 19, 3), floats(6, 19, 3)), {"dim": 0}),
    ],
    "adaptive_max_pool": lambda: [
        ((floats(*shape),), {"sizes": sizes})
        for shape, sizes in (((3, 17, 12, 9), (3, 3)), ((2, 33, 7, 5), (1, 1)), ((3, 19, 12), (4,)))
    ],
    "cross_entropy": lambda: [
        ((floats(*shape), places(shape[1], shape[0], *shape[2:])), {"ignore_index": 3, **params})
        for shape in _SCORES
        for params in ({"reduction": "none"}, {"reduction": "mean", "smoothing": 0.2}, {"reduction": "sum"})
    ],
    "cross_entropy_gradient": lambda: [
        (
            (
                floats(*(shape[0], *shape[2:]) if params["reduction"] == "none" else ()),
                floats(*shape),
                places(shape[1], shape[0], *shape[2:]),
            ),
            {"ignore_index": 3, **params},
        )
        for shape in _SCORES
        for params in ({"reduction": "none", "smoothing": 0.2}, {"reduction": "mean"}, {"reduction": "sum"})
    ],
    "layer_norm": lambda: [
        ((floats(9, 5, 37), floats(5, 37), floats(5, 37)), {"count": 2, "eps": 1e-5}),
        ((floats(300, 19),), {"count": 1, "eps": 1e-5}),
    ],
    "batch_norm": lambda: [((floats(9, 70, 7, 5), floats(70), floats(70)), {"eps": 1e-5})],
    "batch_norm_gradient": lambda: [
        ((floats(9, 70, 7, 5), floats(7, 9, 70, 5).transpose(1, 2, 0, 3), *(np.abs(floats(70)),) * 3), {}),
    ],
    "batch_norm_inference": lambda: [
        ((floats(9, 70, 7, 5), floats(70), np.abs(floats(70)), floats(70), floats(70)), {"eps": 1e-5}),
    ],
    "to": lambda: [
        ((floats(40, 70),), {"dtype": np.dtype(ml_dtypes.bfloat16)}),
        ((floats(40, 70).astype(ml_dtypes.bfloat16),), {"dtype": np.dtype(np.float32)}),
    ],
    "sum": lambda: [((floats(2, *(1,) * 6, 3, 5, 2),), {"dim": (0, 7), "keepdim": True})],
    **{
        name: lambda: [
            ((floats(9, 70, 37),), {"dim": dim, "keepdim": False}) for dim in ((0,), (2,), (0, 2), (0, 1, 2))
        ]
        for name in ("mean", "amax", "amin")
    },
    "sort": lambda: [((places(9, 40, 70),), {"dim": 0, "descending": True})],
    "topk": lambda: [((floats(9, 300),), {"k": 17, "dim": 1, "largest": False})],
    "cumsum": lambda: [((places(9, 40, 70),), {"dim": 0})],
}  # fmt: skip


def listed(op: Op) -> Iterator[Call]:
    """Yield the calls of an op that are written out here, and more dims than most people have for those by element."""
    yield from _LISTED.get(op.name, list)()
    if op.name in _WINDOWS:
        yield from _WINDOWS[op.name]()
    if "elementwise" in op.properties and op.name not in ("where", "pow"):
        inputs, params = next(samples(op))
        yield tuple(floats(2, 1, 2, 1, 2, 1, 3, 1, 2, 5) for _ in inputs), params
