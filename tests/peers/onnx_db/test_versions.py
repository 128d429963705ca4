"""Operators as older versions of the format have them, of which the official tests have only the newest."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from tests.peers.onnx_db.models import floats, model  # noqa: E402

X = "float[2, 3, 4, 4] x"
CASES = {
    "softmax-behind-an-axis": (f"g ({X}) => (float[A, B, C, D] y) {{ y = Softmax<axis = 2>(x) }}", (7, 11)),
    "softmax-default": (f"g ({X}) => (float[A, B, C, D] y) {{ y = Softmax(x) }}", (7, 12, 13)),
    "log-softmax": (f"g ({X}) => (float[A, B, C, D] y) {{ y = LogSoftmax(x) }}", (9, 13)),
    "hardmax": (f"g ({X}) => (float[A, B, C, D] y) {{ y = Hardmax(x) }}", (7, 11, 13)),
    "clip": (f"g ({X}) => (float[A, B, C, D] y) {{ y = Clip<min = -0.5, max = 0.3>(x) }}", (7, 10)),
    "slice": (
        f"g ({X}) => (float[A, B, C, D] y) {{ y = Slice<starts = [1, -3], ends = [9, -1], axes = [1, 3]>(x) }}",
        (7, 9),
    ),
    "pad": (
        f"""g ({X}) => (float[A, B, C, D] y) {{
          y = Pad<mode = "reflect", pads = [0, 0, 1, 2, 0, 0, 2, 1]>(x) }}""",
        (7, 10),
    ),
    "pad-constant": (
        f"g ({X}) => (float[A, B, C, D] y) {{ y = Pad<value = 1.5, pads = [0, 0, 1, 2, 0, 0, -2, 1]>(x) }}",
        (7, 10),
    ),
    "squeeze": (
        f"""g ({X}) => (float[A, B, C, D] y) {{
          u = Unsqueeze<axes = [0, 3]>(x)
          y = Squeeze<axes = [3, 0]>(u) }}""",
        (7, 11),
    ),
    "split": (
        f"g ({X}) => (float[A, B, C, D] y, float[E, F, G, H] z) {{ y, z = Split<axis = 1, split = [1, 2]>(x) }}",
        (7, 11),
    ),
    "split-even": (
        f"g ({X}) => (float[A, B, C, D] y, float[E, F, G, H] z) {{ y, z = Split<axis = 3>(x) }}",
        (7, 13),
    ),
    "reduce": (f"g ({X}) => (float[A, B] y) {{ y = ReduceMean<axes = [1, 3], keepdims = 0>(x) }}", (7, 13, 17)),
    "reduce-sum": (f"g ({X}) => (float[A, B, C, D] y) {{ y = ReduceSum<axes = [-1]>(x) }}", (7, 11)),
    "top": (f"g ({X}) => (float[A, B, C, D] y, int64[E, F, G, H] z) {{ y, z = TopK<axis = 2, k = 2>(x) }}", (7, 9)),
    "top-by-input": (
        f"""g ({X}) => (float[A, B, C, D] y, int64[E, F, G, H] z) {{
          k = Constant<value = int64[1] {{3}}>()
          y, z = TopK<axis = 1>(x, k) }}""",
        (10, 17),
    ),
    "upsample-by-attribute": (
        f"""g ({X}) => (float[A, B, C, D] y) {{ y = Upsample<mode = "nearest", scales = [1.0, 1.0, 2.0, 3.0]>(x) }}""",
        (7, 8),
    ),
    "upsample": (
        f"""g ({X}) => (float[A, B, C, D] y) {{
          s = Constant<value = float[4] {{1.0, 1.0, 2.0, 2.0}}>()
          y = Upsample<mode = "linear">(x, s) }}""",
        (9,),
    ),
    "resize-by-scales": (
        f"""g ({X}) => (float[A, B, C, D] y) {{
          s = Constant<value = float[4] {{1.0, 1.0, 0.5, 2.0}}>()
          y = Resize<mode = "nearest">(x, s) }}""",
        (10,),
    ),
    "resize": (
        f"""g ({X}) => (float[A, B, C, D] y) {{
          s = Constant<value = float[4] {{1.0, 1.0, 1.5, 2.0}}>()
          y = Resize<mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel">(x, , s) }}""",
        (13, 18),
    ),
    "dropout": (f"g ({X}) => (float[A, B, C, D] y) {{ y = Dropout(x) }}", (7, 10, 13)),
    "max-pool": (
        f"g ({X}) => (float[A, B, C, D] y) {{ y = MaxPool<kernel_shape = [3, 2], strides = [2, 1]>(x) }}",
        (7, 8, 12),
    ),
    "average-pool": (
        f"""g ({X}) => (float[A, B, C, D] y) {{
          y = AveragePool<kernel_shape = [3, 3], strides = [2, 2], auto_pad = "SAME_UPPER">(x) }}""",
        (7, 10, 11),
    ),
    "arg-max": (f"g ({X}) => (int64[A, B, C, D] y) {{ y = ArgMax<axis = 2>(x) }}", (7, 11, 13)),
    "flatten": (f"g ({X}) => (float[A, B] y) {{ y = Flatten<axis = 2>(x) }}", (7, 9, 13)),
    "dft": (
        """g (float[2, 3, 5, 1] x) => (float[A, B, C, D] y) { y = DFT<axis = 2, onesided = 1>(x) }""",
        (17,),
    ),
}  # fmt: skip


def _each():
    for name, (text, versions) in CASES.items():
        yield from (pytest.param(text, version, id=f"{name}-{version}") for version in versions)


@pytest.mark.parametrize(("text", "version"), list(_each()))
def test_a_version_gives_what_onnxruntime_gives(text, version):
    made = model(text, version)
    sizes = [dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim]
    x = floats(*sizes)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    wanted = onnxruntime.InferenceSession(made.SerializeToString(), options).run(None, {"x": x})
    got = wb.onnx.load(made.SerializeToString())(wb.from_numpy(x))
    for want, found in zip(wanted, got if isinstance(got, tuple) else (got,), strict=True):
        found = found.numpy()
        assert (found.shape, found.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=5e-6)
