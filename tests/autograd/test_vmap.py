"""vmap: what goes in and out, names, random numbers, refusals, and nesting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.op import ops
from workbench.func import grad, vmap


def rows(*shape: int, names: tuple[str | None, ...] | None = None) -> wb.Tensor:
    return wb.tensor(np.random.default_rng(0).standard_normal(shape).astype("f4"), names=names)


def test_dims_in_and_out_by_position_and_by_name() -> None:
    x = rows(3, 4, 2)
    for dim in (0, 1, 2, -1, -3):
        for out in (0, 1, -1):
            found = vmap(lambda v: v * 2 + 1, in_dims=dim, out_dims=out)(x)
            np.testing.assert_allclose(found.numpy(), np.moveaxis(x.numpy() * 2 + 1, dim, out))
    named = rows(3, 4, names=("N", "C"))
    found = vmap(lambda v: v.sum(), in_dims="C")(named)
    assert found.names == ("C",)
    np.testing.assert_allclose(found.numpy(), named.numpy().sum(0), rtol=1e-6)


def test_names_pass_through_the_batch() -> None:
    x, w = rows(3, 4, names=("N", "C")), rows(4, names=("C",))
    seen: list[Any] = []

    def entry(v: Any) -> Any:
        seen.append((v.shape, v.names, v.ndim, v.dtype))
        return v * w, v.sum("C"), v.rename(C="D")

    product, total, renamed = vmap(entry)(x)
    assert seen == [((4,), ("C",), 1, wb.float32)]
    assert (product.names, total.names, renamed.names) == (("N", "C"), ("N",), ("N", "D"))
    assert vmap(lambda v: v, out_dims=1)(x).names == ("C", "N")
    with pytest.raises(wb.DimensionError, match="do not match"):
        vmap(lambda a, b: a.rename(None) + b.rename(None))(x, rows(3, 4, names=("M", "C")))
    with pytest.raises(wb.DimensionError, match="do not match"):
        vmap(lambda v: v + rows(4, names=("D",)))(x)


def test_nests_of_inputs_and_outputs() -> None:
    tree = {"a": rows(3, 2), "b": (rows(3), [rows(5)])}
    found = vmap(
        lambda t, k: {"sum": t["a"] + t["b"][0], "rest": [t["b"][1][0], k]},
        in_dims=({"a": 0, "b": (0, [None])}, None),
        out_dims={"sum": 1, "rest": [None, None]},
    )(tree, 7)
    assert found["sum"].shape == (2, 3)
    assert found["rest"][0] is tree["b"][1][0]  # type: ignore[index]
    assert found["rest"][1] == 7


def test_what_is_not_batched_is_repeated() -> None:
    assert vmap(lambda v: wb.ones(2))(rows(3)).tolist() == [[1, 1]] * 3
    assert vmap(lambda v, w: w, in_dims=(0, None))(rows(3), rows(2)).shape == (3, 2)


def test_nested_and_chunked() -> None:
    x, y = rows(3, 4), rows(5, 4)
    outer = vmap(lambda a: vmap(lambda b: (a * b).sum())(y))(x)
    np.testing.assert_allclose(outer.numpy(), x.numpy() @ y.numpy().T, rtol=1e-5)
    calls: list[int] = []

    def entry(v: Any) -> Any:
        calls.append(1)
        return v.exp(), v.sum()

    whole, chunked = vmap(entry)(x), vmap(entry, chunk_size=2)(x)
    assert len(calls) == 1 + 2
    for a, b in zip(whole, chunked, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy())


def test_types_of_entries_decide_not_those_of_the_batch() -> None:
    wide = wb.tensor([1.0, 2.0], dtype="float64")
    narrow = rows(3)
    assert vmap(lambda s: narrow * s)(wide).dtype is (narrow * wide[0]).dtype
    assert vmap(lambda s: s * 2.5)(wb.tensor([1, 2])).dtype is wb.float32


def test_no_entries() -> None:
    assert vmap(lambda v: (v @ v, v * 2))(wb.zeros(0, 3))[0].shape == (0,)
    assert vmap(lambda v: wb.median(v))(wb.zeros(0, 3)).shape == (0,)


def test_random_numbers() -> None:
    x = wb.zeros(4, 2)
    draw = lambda v: v + wb.rand(2)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(draw)(x)
    same = vmap(draw, randomness="same")(x).numpy()
    assert (same == same[0]).all()
    different = vmap(draw, randomness="different")(x).numpy()
    assert len({tuple(row) for row in different}) == 4
    wb.manual_seed(5)
    together = vmap(draw, randomness="different")(x).numpy()
    wb.manual_seed(5)
    np.testing.assert_array_equal(together, np.stack([draw(v).numpy() for v in x]))


def test_gradients_for_each_example() -> None:
    w, x, y = rows(3), rows(5, 3), rows(5)
    loss = lambda w, x, y: ((x * w).sum() - y) ** 2.0
    each = vmap(grad(loss), in_dims=(None, 0, 0))(w, x, y)
    residual = x.numpy() @ w.numpy() - y.numpy()
    np.testing.assert_allclose(each.numpy(), 2 * residual[:, None] * x.numpy(), rtol=1e-4, atol=1e-5)


def test_gradients_of_parameters_inside() -> None:
    w = rows(3).requires_grad_()
    x = rows(5, 3)
    inside = vmap(lambda v: wb.autograd.grad((v * w).exp().sum(), w)[0])(x)
    np.testing.assert_allclose(inside.numpy(), x.numpy() * np.exp(x.numpy() * w.detach().numpy()), rtol=1e-5)


def test_in_place_changes_inside() -> None:
    x = rows(3, 4)

    def entry(v: Any) -> Any:
        total = v * 0
        total.add_(v)
        total += 1
        total.mul_(v)
        return total

    np.testing.assert_allclose(vmap(entry)(x).numpy(), (x.numpy() + 1) * x.numpy(), rtol=1e-6)


def test_indices_may_be_batched() -> None:
    table, index = rows(6, 3), wb.tensor([4, 0, 4])
    np.testing.assert_array_equal(vmap(lambda i: table[i])(index).numpy(), table.numpy()[[4, 0, 4]])
    x = rows(3, 5)
    picked = vmap(lambda v, i: v[i])(x, index)
    np.testing.assert_array_equal(picked.numpy(), x.numpy()[np.arange(3), [4, 0, 4]])


def test_a_layer_for_each_entry() -> None:
    """An ensemble: every entry has weights of its own."""
    images, weights, biases = rows(3, 2, 4, 5, 5), rows(3, 6, 2, 3, 3), rows(3, 6)
    layer = lambda x, w, b: wb.conv2d(x, w, b, padding=1, groups=2).relu().sum((2, 3))
    images, weights = rows(3, 2, 4, 5, 5), rows(3, 6, 2, 3, 3)
    together = vmap(layer)(images, weights, biases)
    alone = np.stack([layer(*one).numpy() for one in zip(images, weights, biases, strict=True)])
    np.testing.assert_allclose(together.numpy(), alone, rtol=1e-4, atol=1e-4)


x23, y33 = rows(2, 3), rows(3, 3)
double = lambda v: v * 2


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: vmap(double)(), ValueError, "got no inputs"),
        (
            lambda: vmap(double, in_dims=(0, 0))(x23),
            ValueError,
            "in_dims is not compatible with the structure",
        ),
        (lambda: vmap(double, in_dims=3)(x23), ValueError, "expected in_dim to satisfy -2 <= in_dim < 2"),
        (lambda: vmap(double, in_dims="Q")(x23), IndexError, "Name 'Q' not found|'Q'"),
        (lambda: vmap(double)(3), ValueError, "cannot vmap over non-Tensor arguments"),
        (lambda: vmap(double, in_dims=None)(x23), ValueError, "expected `in_dims` to be int or"),
        (lambda: vmap(double, in_dims=(None,))(x23), ValueError, "at least one input must have"),
        (lambda: vmap(double, in_dims=(1.5,))(x23), ValueError, "must be either an integer dimension"),
        (
            lambda: vmap(lambda a, b: a)(x23, y33),
            ValueError,
            r"same size in the mapped dimension, got sizes \[2, 3\]",
        ),
        (lambda: vmap(lambda a: 3)(x23), ValueError, "must only return Tensors"),
        (lambda: vmap(double, out_dims=(0, 0))(x23), ValueError, "out_dims is not compatible"),
        (lambda: vmap(double, out_dims=5)(x23), IndexError, "out of range"),
        (lambda: vmap(double, out_dims=None)(x23), ValueError, "when out_dim is None"),
        (lambda: vmap(double, randomness="x"), RuntimeError, "Only allowed values for randomness"),
        (lambda: vmap(double, chunk_size=0), ValueError, "greater than 0"),
        (lambda: vmap(lambda v: v.sum().item())(x23), wb.NoNumbersError, "inside vmap"),
        (lambda: vmap(lambda v: v if v.sum() > 0 else -v)(x23), wb.NoNumbersError, "inside vmap"),
        (
            lambda: vmap(lambda v: v + wb.ones(5))(x23),
            wb.DimensionError,
            r"tensor a \(3\) must match .* b \(5\)",
        ),
    ],
)
def test_refusals(act: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", [(3,), (3, 4), (3, 2, 4)])
def test_gradients_of_softmax_are_taken_for_all_entries_at_once(name: str, shape: tuple[int, ...]) -> None:
    draw = np.random.default_rng(0)
    g, y = wb.tensor(draw.standard_normal(shape)), wb.tensor(draw.standard_normal(shape))
    op = getattr(ops, f"{name}_gradient")
    assert op.batch is not None
    for dim in range(max(1, len(shape) - 1)):
        for i, batched in ((0, (0, 0)), (1, (0, None)), (2, (None, 0))):
            first = g if batched[0] == 0 else g[i]
            second = y if batched[1] == 0 else y[i]
            found = vmap(lambda a, b, dim=dim: op(a, b, dim=dim), in_dims=batched)(first, second)
            expected = [
                op(g[k] if batched[0] == 0 else first, y[k] if batched[1] == 0 else second, dim=dim)
                for k in range(3)
            ]
            np.testing.assert_allclose(found.numpy(), wb.stack(expected).numpy(), rtol=1e-12)


def test_a_value_that_escapes_says_so() -> None:
    kept: list[Any] = []
    vmap(lambda v: kept.append(v) or v)(x23)
    with pytest.raises(RuntimeError, match="left vmap by another way"):
        kept[0] + 1
