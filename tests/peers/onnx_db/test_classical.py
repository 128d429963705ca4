"""Operators of the domain ai.onnx.ml, held against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

ROWS = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
ROWS[1] = 0
GAPS = np.where(ROWS > 0.5, np.nan, ROWS).astype(np.float32)
WHOLE = np.arange(8).reshape(2, 4)
EIGHT = [1.0, 2.0, -3.0, 4.0, 5.0, 6.0, 7.0, 8.0]

CASES: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "columns": ("ArrayFeatureExtractor", [ROWS, np.array([0, 2])], {}),
    "columns of a row": ("ArrayFeatureExtractor", [ROWS[0], np.array([3, 2])], {}),
    "above": ("Binarizer", [ROWS], {"threshold": 0.25}),
    "scaled": ("Scaler", [ROWS], {"offset": [1.0, 2.0, 3.0, 4.0], "scale": [1.0, 0.5, 2.0, 3.0]}),
    "scaled alike": ("Scaler", [ROWS], {"offset": [1.0], "scale": [0.5]}),
    "by the greatest": ("Normalizer", [ROWS], {"norm": "MAX"}),
    "by the greatest below zero": ("Normalizer", [-np.abs(ROWS)], {"norm": "MAX"}),
    "by the sum": ("Normalizer", [ROWS], {"norm": "L1"}),
    "by the length": ("Normalizer", [ROWS], {"norm": "L2"}),
    "gaps": ("Imputer", [GAPS], {"imputed_value_floats": EIGHT[:4], "replaced_value_float": float("nan")}),
    "zeros": ("Imputer", [ROWS], {"imputed_value_floats": [9.0], "replaced_value_float": 0.0}),
    "whole numbers": ("Imputer", [WHOLE], {"imputed_value_int64s": [9], "replaced_value_int64": 3}),
    "regression": ("LinearRegressor", [ROWS], {"coefficients": EIGHT, "intercepts": [0.5, 1.0], "targets": 2}),
    "shares": ("LinearRegressor", [ROWS], {"coefficients": EIGHT, "targets": 2, "post_transform": "SOFTMAX"}),
}  # fmt: skip


def _model(operator: str, inputs: list[Any], attributes: dict[str, Any]) -> bytes:
    helper = onnx.helper
    names = [f"x{i}" for i in range(len(inputs))]
    kinds = [helper.np_dtype_to_tensor_dtype(one.dtype) for one in inputs]
    node = helper.make_node(operator, names, ["y"], name="it", domain="ai.onnx.ml", **attributes)
    given = [
        helper.make_tensor_value_info(name, kind, one.shape)
        for name, kind, one in zip(names, kinds, inputs, strict=True)
    ]
    result = helper.make_tensor_value_info("y", kinds[0], None)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    made = helper.make_model(
        helper.make_graph([node], "g", given, [result]), opset_imports=versions, ir_version=8
    )
    data: bytes = made.SerializeToString()
    return data


@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_onnxruntime_gives(name: str) -> None:
    operator, inputs, attributes = CASES[name]
    data = _model(operator, inputs, attributes)
    (wanted,) = onnxruntime.InferenceSession(data).run(None, {f"x{i}": one for i, one in enumerate(inputs)})
    found = wb.onnx.load(data)(*map(wb.from_numpy, inputs)).numpy()
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "message"),
    [
        ("Normalizer", [ROWS], {"norm": "L3"}, r"node 'it' \(ai\.onnx\.ml\.Normalizer\): it has the norm 'L3'"),
        ("LinearRegressor", [ROWS], {"coefficients": EIGHT[:4], "post_transform": "PROBIT"}, "the transform 'PROBIT'"),
        ("Imputer", [ROWS], {"imputed_value_int64s": [1]}, "no values of the type that it is given"),
    ],
)  # fmt: skip
def test_what_it_does_not_do_is_said(operator: str, inputs: Any, attributes: Any, message: str) -> None:
    module = wb.onnx.load(_model(operator, inputs, attributes))
    with pytest.raises(wb.onnx.OnnxError, match=message):
        module(*map(wb.from_numpy, inputs))
