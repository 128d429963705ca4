"""The type of a tensor given as ``out=``: the result's own where PyTorch asks for it, else one that can hold it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench.core.inplace import taking_out
from workbench.ops import offers

X, WHOLE = wb.tensor([[4.0, 1.0], [1.0, 3.0]]), wb.tensor([[1, 0], [0, 1]])

EXACT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "gather": (wb.gather, (X, 0, WHOLE)),
    "take": (wb.take, (X, WHOLE)),
    "index_select": (wb.index_select, (X, 0, WHOLE[0])),
    "scatter_add": (wb.scatter_add, (X, 0, WHOLE, X)),
    "amax": (wb.amax, (X, 1)),
    "argmax": (wb.argmax, (X, 1)),
    "floor": (wb.floor, (X,)),
    "negative": (wb.negative, (X,)),
    "matmul": (wb.matmul, (X, X)),
    "where": (wb.where, (X > 1, X, X)),
    "searchsorted": (wb.searchsorted, (X[0], X)),
    "sort": (wb.sort, (X,)),
    "topk": (wb.topk, (X, 1)),
    "aminmax": (wb.aminmax, (X,)),
    "max": (wb.max, (X, 1)),
    "cholesky": (wb.linalg.cholesky, (X,)),
    "svd": (wb.linalg.svd, (X,)),
}
CAST: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "add": (wb.add, (X, X)),
    "exp": (wb.exp, (X,)),
    "cat": (wb.cat, ([X, X],)),
    "mean": (wb.mean, (X, 1)),
    "max": (wb.max, (X, X)),
    "matrix_power": (wb.linalg.matrix_power, (X, 2)),
}


def several(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


def full(shape: Any, dtype: Any) -> Any:
    return wb.full(tuple(shape), 7).to(dtype)


@pytest.mark.parametrize("name", EXACT)
def test_another_type_is_refused_and_nothing_written(name: str) -> None:
    function, arguments = EXACT[name]
    result = function(*arguments)
    for i, one in enumerate(several(result)):
        outs = [full(other.shape, other.dtype) for other in several(result)]
        outs[i] = full(one.shape, wb.float64)
        words = rf"{name}\(\): Expected out tensor to have dtype {one.dtype.name}, but got float64 instead"
        with pytest.raises(wb.DTypeError, match=words):
            function(*arguments, out=tuple(outs) if isinstance(result, tuple) else outs[0])
        assert all((out == 7).all() and out._version == 0 for out in outs)


@pytest.mark.parametrize("name", [*EXACT, *CAST])
def test_its_own_type_is_taken(name: str) -> None:
    function, arguments = {**EXACT, **CAST}[name]
    result = function(*arguments)
    outs = tuple(full(one.shape, one.dtype) for one in several(result))
    function(*arguments, out=outs if isinstance(result, tuple) else outs[0])
    assert [one.tolist() for one in outs] == [one.tolist() for one in several(result)]


@pytest.mark.parametrize("name", CAST)
def test_others_cast(name: str) -> None:
    function, arguments = CAST[name]
    result = function(*arguments)
    out = full(result.shape, wb.complex128)
    assert function(*arguments, out=out) is out
    assert out.real.tolist() == result.tolist()
    with pytest.raises(wb.DTypeError, match="float32 can't be cast to the desired output type int64"):
        function(*arguments, out=full(result.shape, wb.int64))


def test_a_rule_is_one_that_there_is() -> None:
    assert {one.out for one in offers()} == {True, False, "exact", "exact pair"}
    with pytest.raises(ValueError, match="'exakt' is no rule for the type of out="):
        taking_out("f", wb.exp, rule="exakt")  # type: ignore[arg-type]
