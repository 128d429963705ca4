"""The official node tests of the package onnx: which are in types that we have, and how results are compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from workbench.base.lazy import Lazy
from workbench.onnx.errors import OnnxError
from workbench.onnx.values import data_type

onnx = Lazy("onnx")
loader = Lazy("onnx.backend.test.loader")

FLOATS = {"float16": 2e-3, "bfloat16": 2e-2}
"""How far results of 16 bits may be away: some of their last places, as sums are taken in another order."""


@lru_cache(maxsize=1)
def cases() -> dict[str, Any]:
    """Return the cases that have no other types than ours, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they divide by zero and overflow while they are made
        found = loader.load_model_tests(kind="node")
    return {one.name: one for one in found if all(map(_ours, _codes(model_of(one))))}


def model_of(case: Any) -> Any:
    """Return the model of a case; some are files."""
    return case.model or onnx.load(Path(case.model_dir) / "model.onnx")


def _ours(code: int) -> bool:
    try:
        data_type(code)
    except OnnxError:
        return False
    return True


def _codes(model: Any) -> Iterator[int]:
    """Yield the codes of all types that a model names, but for 0, which says nothing."""
    for one in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        yield from _inside(one.type)
    for one in model.graph.initializer:
        yield one.data_type
    for node in model.graph.node:
        yield from (one.i for one in node.attribute if node.op_type == "Cast" and one.name == "to")


def _inside(kind: Any) -> Iterator[int]:
    which = kind.WhichOneof("value")
    if which == "tensor_type":
        yield from filter(None, (kind.tensor_type.elem_type,))
    elif which in ("sequence_type", "optional_type"):
        yield from _inside(getattr(kind, which).elem_type)


def array(value: Any) -> Any:
    """Return a value of a case as an array."""
    return onnx.numpy_helper.to_array(value) if hasattr(value, "raw_data") else np.asarray(value)


def ours(value: Any) -> Any:
    """Return a value of a case as a tensor of ours; sequences are tuples."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return tuple(map(ours, value))
    return wb.from_numpy(np.array(array(value)))


def compare(wanted: Any, got: Any, relative: float, absolute: float, drawn: bool = False) -> None:
    """Hold results against those of a case; of what is `drawn`, types and shapes alone."""
    if isinstance(wanted, list | tuple):
        assert len(wanted) == len(got)
        for one, other in zip(wanted, got, strict=True):
            compare(one, other, relative, absolute, drawn)
        return
    if wanted is None:
        assert got is None
        return
    want, found = array(wanted), got.detach().numpy()
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    if drawn:
        return
    if found.dtype.kind in "fcV":
        wide = np.complex128 if found.dtype.kind == "c" else np.float64
        least = FLOATS.get(str(found.dtype), 0.0)
        np.testing.assert_allclose(
            found.astype(wide), want.astype(wide), rtol=max(relative, least), atol=max(absolute, least, 1e-6)
        )
    else:
        np.testing.assert_array_equal(found, want)


def judge(case: Any, drawn: bool = False) -> None:
    """Run a case; raise where the results are others."""
    module = wb.onnx.load(model_of(case).SerializeToString())
    for inputs, outputs in case.data_sets:
        with wb.no_grad():
            found = module(*map(ours, inputs))
        several: Sequence[Any] = (found,) if len(outputs) == 1 else found
        compare(list(outputs), list(several), case.rtol, case.atol, drawn)
