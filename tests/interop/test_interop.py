"""Tables, labelled arrays and PyTorch's tensors: values and names there and back, where the libraries are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.interop.pandas import from_pandas, to_dataframe, to_series
from workbench.interop.torch import from_torch, to_torch
from workbench.interop.xarray import from_xarray, to_xarray


@pytest.fixture
def pandas() -> Any:
    return pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def xarray() -> Any:
    return pytest.importorskip("xarray", reason="xarray is not installed")


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def test_tables_there_and_back(pandas: Any) -> None:
    x = wb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], names=("N", "C"))
    frame = to_dataframe(x, columns=["a", "b", "c"])
    assert (frame.index.name, frame.columns.name, list(frame.columns)) == ("N", "C", ["a", "b", "c"])
    back = from_pandas(frame)
    assert (back.names, back.dtype, back.tolist()) == (x.names, wb.float32, x.tolist())
    series = to_series(x[0])
    assert series.index.name == "C"
    assert from_pandas(series).names == ("C",)
    assert from_pandas(series, names=None).names == (None,)
    with pytest.raises(wb.DimensionError, match="2 dims"):
        to_dataframe(x[0])
    with pytest.raises(wb.DimensionError, match="1 dim"):
        to_series(x)
    with pytest.raises(wb.AutogradError, match="detach"):
        to_series(x[0].detach().requires_grad_())


def test_columns_become_one_type(pandas: Any) -> None:
    frame = pandas.DataFrame(
        {"a": np.array([1, 2], np.int32), "b": np.array([0.5, 1.5], np.float32), "c": [True, False]}
    )
    assert from_pandas(frame).dtype is wb.float32
    assert from_pandas(frame[["a", "c"]]).tolist() == [[1, 1], [2, 0]]
    assert from_pandas(frame, dtype="float64").dtype is wb.float64
    missing = pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64")})
    assert np.isnan(from_pandas(missing).numpy()[1, 0])
    assert from_pandas(pandas.DataFrame(index=range(2))).shape == (2, 0)
    for wrong in (
        pandas.Series(["a"]),
        pandas.Series(pandas.to_datetime(["2020-01-01"])),
        pandas.DataFrame({"t": ["x"]}),
    ):
        with pytest.raises(wb.DTypeError, match="are not numbers"):
            from_pandas(wrong)
    odd = pandas.Series([1.0], index=pandas.Index([0], name="not a name!"))
    assert from_pandas(odd).names == (None,)


def test_what_is_no_table_is_refused() -> None:
    for read in (from_pandas, from_xarray, from_torch):
        with pytest.raises(TypeError, match="expected a"):
            read([1, 2])


def test_labelled_arrays_there_and_back(xarray: Any) -> None:
    x = wb.tensor([[1.0, 2.0]], names=("time", "station"))
    there = to_xarray(x, coords={"station": ["a", "b"]}, name="rain")
    assert there.dims == ("time", "station")
    back = from_xarray(there)
    assert (back.names, back.tolist()) == (x.names, x.tolist())
    assert back.shares_storage(x)
    assert to_xarray(wb.zeros(2)).dims == ("dim_0",)
    with pytest.raises(wb.DimensionError, match="not a valid dimension name"):
        from_xarray(xarray.DataArray(np.zeros(2), dims=["a b"]))
    with pytest.raises(wb.DTypeError):
        from_xarray(xarray.DataArray(np.array(["a"]), dims=["x"]))
    assert wb.tensor(there).tolist() == x.tolist()


def test_tensors_of_pytorch_there_and_back(torch: Any) -> None:
    theirs = torch.zeros(2, 3)
    ours = from_torch(theirs, names=("N", "C"))
    assert ours.names == ("N", "C")
    ours.fill_(3.0)
    assert theirs.sum().item() == 18.0
    assert to_torch(ours).data_ptr() == theirs.data_ptr()
    leaf = torch.ones(2, requires_grad=True)
    assert from_torch(leaf).requires_grad
    assert not from_torch(leaf * 2).requires_grad
    assert to_torch(wb.ones(2, requires_grad=True)).requires_grad
    assert from_torch(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]
    assert from_torch(torch.ones(2, dtype=torch.bfloat16)).dtype is wb.bfloat16
