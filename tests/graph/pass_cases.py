"""For each pass a small graph on which it does what it is there for: for tests, and for pictures to look at."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import workbench as wb
from workbench import nn
from workbench.graph import Graph, passes, trace
from workbench.quantization.quantized import functional

__all__ = ["CASES", "PASSES"]

PASSES = sorted(
    name
    for name in passes.__all__
    if name not in ("run_passes", "step") and not isinstance(getattr(passes, name), type)
)
"""All passes there are."""


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        scores = self.query(x) @ self.key(x).swapaxes(-1, -2)
        return scores.softmax(-1) @ self.value(x)


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(wb.ones(3, 4))

    def forward(self, x: Any) -> Any:
        return x @ (self.weight * 2).T


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)

    def forward(self, x: Any) -> Any:
        x = self.norm1(self.conv1(x)).relu()
        return (self.norm2(self.conv2(x)) + x).relu()


class Turned(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        return self.layer(x.permute(1, 0, 2)).permute(1, 0, 2).relu()


PLANES = {"N": 1, "C": 3, "H": 8, "W": 8}


def _residual() -> Graph:
    return trace(Residual().eval(), PLANES)


def _layers() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 2), nn.ReLU())


def _pooled() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2))


def _codes(x: Any) -> Any:
    q = wb.quantize_per_tensor(x, 0.1, 10, wb.quint8)
    weight = wb.quantize_per_tensor(wb.ones(3, 3, 1, 1), 0.5, 0, wb.qint8)
    y = functional.conv2d(q, weight, None, scale=0.1).relu()
    return wb.quantize_per_tensor(y.dequantize() + q.dequantize(), 0.2, 0, wb.quint8).dequantize()


def _written_out(x: Any) -> Any:
    y = x * 0.5 * (1 + (x / math.sqrt(2)).erf())
    return y + 1


def _loop() -> Graph:
    return wb.graph.parse(
        """power(%x : f32[N:4]):
  %y : f32[N:4] = loop(3, True, %x):
    body(%i : int, %p : f32[N:4]):
      %q : f32[N:4] = mul(%p, %x)
      return True, %q
  %z : f32[N:4] = relu(%y)
  return %z"""
    )


def _dead() -> Graph:
    return wb.graph.parse(
        """spare(%x : f32[N:4]):
  %a : f32[N:4] = exp(%x)
  %b : f32[N:4] = sin(%x)
  %c : f32[N:4] = cos(%b)
  %y : f32[N:4] = relu(%a)
  return %y"""
    )


def _outlined() -> tuple[Graph, tuple[Any, ...]]:
    graph = trace(lambda x: (x * 2).exp() + 1, wb.ones(N=3))
    return graph, (graph.nodes[:2], "doubled_exp")


def _alone(make: Callable[[], Graph]) -> Callable[[], tuple[Graph, tuple[Any, ...]]]:
    return lambda: (make(), ())


CASES: dict[str, Callable[[], tuple[Graph, tuple[Any, ...]]]] = {
    "batch_products": _alone(lambda: passes.freeze(trace(Attention().eval(), wb.ones(2, 3, 4)))),
    "channels_last": _alone(_residual),
    "common_subexpressions": _alone(lambda: trace(lambda x: x.exp() + x.exp().relu(), wb.ones(N=3))),
    "constant_fold": _alone(lambda: trace(Scaled(), wb.ones(2, 4))),
    "dead_code": _alone(_dead),
    "differentiate": _alone(lambda: trace(_layers(), wb.ones(N=2, C=3))),
    "freeze": _alone(lambda: trace(_layers(), wb.ones(N=2, C=3))),
    "fuse_codes": _alone(lambda: trace(_codes, wb.ones(1, 3, 4, 4))),
    "fuse_conv_batch_norm": _alone(_residual),
    "fuse_convolutions": _alone(lambda: passes.fuse_conv_batch_norm(_residual())),
    "fuse_elementwise": _alone(lambda: trace(lambda x: ((x * 2).exp() + x).tanh().sum(), wb.ones(N=3))),
    "inline": _alone(lambda: passes.fuse_convolutions(passes.fuse_conv_batch_norm(_residual()))),
    "lower_precision": lambda: (passes.freeze(trace(_layers(), wb.ones(N=2, C=3))), (wb.bfloat16,)),
    "normal_forms": _alone(lambda: trace(_written_out, wb.ones(N=3))),
    "outline": _outlined,
    "peephole": _alone(lambda: trace(lambda x: (x * 1).exp().relu().relu(), wb.ones(N=3))),
    "permute_later": _alone(lambda: trace(Turned(), wb.ones(2, 3, 4))),
    "pool_before_relu": _alone(lambda: trace(_pooled(), PLANES)),
    "unroll": _alone(_loop),
}
"""By the name of a pass: a graph, and what else the pass takes."""
