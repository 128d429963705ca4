"""How tensors print: every type and payload, a bounded text, and no more values read than are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.tensor import printing
from workbench.tensor.printing import MOST, shown_of


@pytest.fixture(autouse=True)
def as_always() -> Iterator[None]:
    yield
    wb.set_printoptions(profile="default")


@pytest.mark.parametrize(
    ("values", "dtype", "text"),
    [
        ([1.5469, -0.0515], "bfloat16", "tensor([ 1.5469, -0.0515], dtype=workbench.bfloat16)"),
        ([1.5, 2e-5], "float16", "tensor([1.5000e+00, 2.0027e-05], dtype=workbench.float16)"),
        ([1e300, -1e-300], "float64", "tensor([ 1.0000e+300, -1.0000e-300], dtype=workbench.float64)"),
        ([1 + 2j, -9.5 - 0.25j], "complex64", "tensor([ 1.0000+2.0000j, -9.5000-0.2500j])"),
        ([complex("nan+infj")], "complex128", "tensor([nan+infj], dtype=workbench.complex128)"),
        ([float("inf"), float("-inf")], None, "tensor([inf, -inf])"),
        ([float("inf"), 1.0, float("nan")], None, "tensor([inf, 1., nan])"),
        ([True, False], None, "tensor([ True, False])"),
        ([1, -20, 300], None, "tensor([  1, -20, 300])"),
        (2.5, None, "tensor(2.5000)"),
        (3, "uint8", "tensor(3, dtype=workbench.uint8)"),
        (1 - 1j, None, "tensor(1.-1.j)"),
        ([], None, "tensor([])"),
        ([], "int64", "tensor([], dtype=workbench.int64)"),
        ([[], []], None, "tensor([], size=(2, 0))"),
        ([2.0, 0.0], None, "tensor([2., 0.])"),
        ([1e9, 1.0], None, "tensor([1.0000e+09, 1.0000e+00])"),
        ([[0.0, 0.0]], None, "tensor([[0., 0.]])"),
    ],
)  # fmt: skip
def test_every_type_prints(values: Any, dtype: str | None, text: str) -> None:
    assert repr(wb.tensor(values, dtype=dtype)) == text


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "int64", "bool"])
def test_the_words_are_pytorchs(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    values = np.random.default_rng(0).standard_normal((5, 70, 9))
    ours = wb.tensor(values + 0.5 * values[::-1] * 1j if dtype == "complex64" else values, dtype=dtype)
    theirs = torch.from_dlpack(ours)
    ours_said = repr(ours).replace("workbench.", "torch.")
    assert ours_said == repr(theirs)


def expanded(*shape: int) -> wb.Tensor:
    return wb.tensor(1.25).expand(shape)


@pytest.mark.parametrize(
    "shape",
    [
        (10**8,), (10**4, 10**4), (2,) * 60, (7,) * 20, (1,) * 64, (10**3, 2, 10**6), (2, 10**9),
        (64, 3, 224, 224), (999, 1),
    ],
)  # fmt: skip
def test_no_more_is_read_than_is_shown_whatever_the_size(shape: tuple[int, ...]) -> None:
    x = expanded(*shape)
    found = shown_of(x.payload)
    assert found is not None
    assert found.values.size <= MOST
    text = repr(x)
    assert len(text) <= 50_000
    assert ("..." in text) == (found.values.size < x.numel())


def test_the_edges_are_shown() -> None:
    x = wb.arange(10_000).reshape(100, 100)
    shown = shown_of(x.payload)
    assert shown is not None
    assert shown.cuts == (3, 3)
    np.testing.assert_array_equal(shown.values[:, -1], [99, 199, 299, 9799, 9899, 9999])
    assert "9997, 9998, 9999]])" in repr(x)
    deep = shown_of(wb.arange(4**9).reshape((4,) * 9).payload)
    assert deep is not None
    assert deep.values.size <= MOST
    assert deep.values.shape == (*(2,) * 8, 4)


def test_long_texts_are_bounded() -> None:
    names = tuple(f"{'n' * 200}{i}" for i in range(64))
    assert len(repr(wb.tensor(1.0).expand((1,) * 64).rename(*names))) < 50_000
    with pytest.raises(wb.DimensionError, match="1000000 characters"):
        wb.zeros(2, names=("n" * 10**6,))
    q = wb.quantize_per_channel(
        wb.ones(10**5, 2), wb.full((10**5,), 0.5), wb.zeros(10**5, dtype="int64"), 0, wb.qint8
    )
    assert "100000 in all" in repr(q)
    assert len(repr(q)) < 2000


def test_quantized_values_are_those_of_their_codes() -> None:
    x = wb.tensor(np.linspace(-1, 1, 2000, dtype=np.float32).reshape(100, 20))
    q = wb.quantize_per_channel(x, wb.linspace(0.01, 0.02, 100), wb.zeros(100, dtype="int64"), 0, wb.qint8)
    shown = shown_of(q.payload)
    assert shown is not None
    edges = q.dequantize().numpy()[[0, 1, 2, -3, -2, -1]][:, [0, 1, 2, -3, -2, -1]]
    np.testing.assert_allclose(shown.values, edges, rtol=1e-6)


def test_values_that_stand_for_others_say_so() -> None:
    said: list[str] = []

    def look(x: wb.Tensor) -> wb.Tensor:
        said.append(repr(x))
        return x * 2

    from workbench import func

    wb.graph.trace(look, wb.ones(2, 3))
    func.vmap(look)(wb.ones(2, 3))
    func.jvp(look, (wb.ones(2),), (wb.ones(2),))
    assert said == [
        "tensor(a value of a graph, without numbers, size=(2, 3))",
        "tensor(one entry of a batch, without numbers, size=(3,))",
        "tensor([1., 1.], with a tangent)",
    ]


def test_options() -> None:
    x = wb.tensor([1 / 3, 100.0])
    wb.set_printoptions(precision=2)
    assert repr(x) == "tensor([  0.33, 100.00])"
    wb.set_printoptions(sci_mode=True)
    assert repr(x) == "tensor([3.33e-01, 1.00e+02])"
    wb.set_printoptions(profile="default")
    assert repr(x) == "tensor([  0.3333, 100.0000])"
    wb.set_printoptions(threshold=5, edgeitems=1)
    assert repr(wb.arange(6)) == "tensor([0,  ..., 5])"
    assert repr(wb.arange(5)) == "tensor([0, 1, 2, 3, 4])"
    wb.set_printoptions(profile="full")
    assert "..." not in repr(wb.arange(2000))
    wb.set_printoptions(profile="default", linewidth=20)
    assert repr(wb.arange(7)) == "tensor([0, 1, 2, 3,\n        4, 5, 6])"
    wb.set_printoptions(linewidth=1)
    assert repr(wb.arange(2)) == "tensor([0,\n        1])"


@pytest.mark.parametrize(
    "wrong",
    [
        {"precision": -1}, {"precision": 1.5}, {"precision": True}, {"precision": 10**9}, {"edgeitems": 0},
        {"threshold": -1}, {"threshold": float("nan")}, {"threshold": "all"}, {"linewidth": 0},
        {"profile": "long"}, {"sci_mode": "yes"}, {"precision": 3, "linewidth": -1},
    ],
)  # fmt: skip
def test_options_that_are_none_are_refused_and_change_nothing(wrong: dict[str, Any]) -> None:
    before = printing.options()
    with pytest.raises(ValueError, match="set_printoptions"):
        wb.set_printoptions(**wrong)
    assert printing.options() == before
