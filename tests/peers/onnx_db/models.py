"""Small models that the tests open: their graphs as text, their weights as arrays."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper, parser

from tests.peers.saturation import MOST

F32 = TensorProto.FLOAT


def model(text: str, opset: int = 17, extra: str = "", **weights: np.ndarray):
    """Return the bytes of a model whose graph is written as text."""
    graph = parser.parse_graph(text)
    graph.initializer.extend(numpy_helper.from_array(one, name) for name, one in weights.items())
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    if extra:
        made.opset_import.append(helper.make_opsetid(extra, 1))
    return made


def floats(*sizes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


MLP = """mlp (float[N, 4] x) => (float[N, 2] y) {
  h = Gemm<transB = 1>(x, first_weight, first_bias)
  a = Relu(h)
  y = Gemm<transB = 1>(a, second_weight, second_bias)
}"""


def mlp_weights() -> dict[str, np.ndarray]:
    return {
        "first_weight": floats(3, 4), "first_bias": floats(3, seed=1),
        "second_weight": floats(2, 3, seed=2), "second_bias": floats(2, seed=3),
    }  # fmt: skip


RESHAPED = """g (float[N, 2, 3] x) => (float[N, M] y) {
  s = Shape(x)
  zero = Constant<value = int64 {0}>()
  n = Gather(s, zero)
  axes = Constant<value_ints = [0]>()
  row = Unsqueeze(n, axes)
  rest = Constant<value_ints = [-1]>()
  shape = Concat<axis = 0>(row, rest)
  y = Reshape(x, shape)
}"""


LOOP = """g (float[2] x, int64 n) => (float[2] last, float[T, 2] rows) {
  yes = Constant<value = bool {1}>()
  last, rows = Loop (n, yes, x) <body = b (int64 i, bool going, float[2] v) => (bool again, float[2] w, float[2] row) {
    again = Identity(going)
    f = Cast<to = 1>(i)
    w = Add(v, f)
    row = Mul(w, x)
  }>
}"""


IF = """g (float[2] x, bool c) => (float[2] y) {
  y = If (c) <then_branch = t () => (float[2] a) { a = Add(x, w) },
    else_branch = e () => (float[2] b) { b = Sub(x, w) }>
}"""


QDQ = """g (float[N, 3, 8, 8] x) => (float[N, 4, 6, 6] y) {
  xq = QuantizeLinear(x, xs, xz)
  xd = DequantizeLinear(xq, xs, xz)
  wd = DequantizeLinear<axis = 0>(w, ws, wz)
  c = Conv(xd, wd)
  r = Relu(c)
  rq = QuantizeLinear(r, ys, yz)
  y = DequantizeLinear(rq, ys, yz)
}"""
QLINEAR = """g (uint8[N, 3, 8, 8] x) => (uint8[N, 4, 6, 6] y) {
  y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz, b)
}"""


def quantized() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    return {
        "xs": np.float32(0.02), "xz": np.uint8(120), "w": draw.integers(-MOST, MOST + 1, (4, 3, 3, 3)).astype(np.int8),
        "ws": np.array([0.01, 0.02, 0.005, 0.03], np.float32), "wz": np.zeros(4, np.int8), "ys": np.float32(0.05),
        "yz": np.uint8(3),
    }  # fmt: skip


FUNCTION = """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
      g (float[2] x) => (float[2] y) { y = own.twice<by = 3.0>(x) }
      <domain: "own", opset_import: ["" : 17]>
      twice <by> (a) => (b) { k = Constant<value_float: float = @by>() b = Mul(a, k) }"""
