"""Elementwise functions: what their loop over samples does not see."""

from __future__ import annotations

import doctest
import inspect
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.nn import functional as F

GENERATED = "workbench/ops/offer.py"


def generated() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the functions that are made from records, with the path by which people call them."""
    for path, room in (("wb", wb), ("wb.special", wb.special), ("wb.nn.functional", F)):
        for name, function in vars(room).items():
            if name.endswith("_"):
                continue  # in place: documented by the function it is a variant of
            inner = inspect.unwrap(function) if inspect.isfunction(function) else None
            if inner is not None and inner.__code__.co_filename.endswith(GENERATED):
                yield f"{path}.{name}", function


FUNCTIONS = list(generated())


def test_many_functions_are_made_from_records() -> None:
    assert len(FUNCTIONS) > 80


@pytest.mark.parametrize(("path", "function"), FUNCTIONS, ids=[path for path, _ in FUNCTIONS])
class TestGenerated:
    def test_has_a_signature(self, path: str, function: Callable[..., Any]) -> None:
        names = [name for name in inspect.signature(function).parameters if name != "out"]
        assert names in (["input"], ["input", "other"])

    def test_has_an_example_that_holds(self, path: str, function: Callable[..., Any]) -> None:
        assert function.__doc__
        assert "Equation: " in function.__doc__
        test = doctest.DocTestParser().get_doctest(function.__doc__, {}, path, None, None)
        assert test.examples
        result = doctest.DocTestRunner(verbose=False).run(test)
        assert result.failed == 0

    def test_is_pickled_by_name(self, path: str, function: Callable[..., Any]) -> None:
        assert pickle.loads(pickle.dumps(function)) is function


def slope(function: Callable[..., Any], *values: float) -> list[float]:
    """Return the gradient of `function` by each of its arguments."""
    leaves = [wb.tensor(value, requires_grad=True) for value in values]
    found = wb.autograd.grad(function(*leaves), leaves, allow_unused=True)
    return [0.0 if one is None else one.item() for one in found]


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (wb.relu, (0.0,), [0.0]),
        (wb.abs, (0.0,), [0.0]),
        (lambda x: wb.clamp(x, 0, 1), (0.0,), [1.0]),
        (lambda x: wb.clamp(x, 0, 1), (1.0,), [1.0]),
        (lambda x: F.hardtanh(x), (1.0,), [0.0]),
        (F.relu6, (6.0,), [0.0]),
        (F.hardsigmoid, (3.0,), [0.0]),
        (lambda x: F.leaky_relu(x, 0.1), (0.0,), [pytest.approx(0.1)]),
        (F.elu, (0.0,), [1.0]),
        (F.softplus, (0.0,), [0.5]),
        (wb.maximum, (2.0, 2.0), [0.5, 0.5]),
        (wb.fmax, (2.0, 2.0), [1.0, 0.0]),
        (wb.sqrt, (0.0,), [math.inf]),
        (lambda x: x**0.5, (0.0,), [math.inf]),
        (lambda x: x**0, (0.0,), [0.0]),
        (wb.pow, (0.0, 0.0), [0.0, 0.0]),
        (wb.fmod, (5.0, 3.0), [1.0, -1.0]),
        (wb.frac, (1.5,), [1.0]),
        (wb.atan2, (0.0, 0.0), [0.0, 0.0]),
        (wb.sinc, (0.0,), [0.0]),
        (wb.special.i1, (0.0,), [0.5]),
        (wb.round, (1.3,), [0.0]),
        (wb.copysign, (0.0, 1.0), [0.0, 0.0]),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gradients_at_kinks(
    function: Callable[..., Any], at: tuple[float, ...], expected: list[float]
) -> None:
    assert slope(function, *at) == expected


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_xlogy_at_the_origin() -> None:
    assert math.isnan(slope(wb.xlogy, 0.0, 0.0)[1])
    assert slope(wb.xlogy, 0.0, 0.0)[0] == 0.0


# -------------------------------------------------------------------------------------- complex numbers


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (wb.real, 1),
        (wb.imag, 1j),
        (wb.abs, 0.6 + 0.8j),
        (lambda z: wb.abs(z) ** 2, 6 + 8j),
        (wb.angle, -0.16 + 0.12j),
        (lambda z: wb.real(z * z), 6 - 8j),
        (lambda z: wb.real(1 / z), 0.0112 - 0.0384j),
        (lambda z: wb.real(wb.sqrt(z)), 0.2 + 0.1j),
        (lambda z: wb.real(wb.sgn(z)), 0.128 - 0.096j),
        (lambda z: wb.real(z**3), -21 - 72j),
        (lambda z: wb.view_as_real(z)[1], 1j),
        (lambda z: wb.real(wb.conj(z) * 1j), 1j),
    ],
)
def test_complex_gradients_follow_the_conjugate_convention(
    function: Callable[..., Any], expected: complex
) -> None:
    z = wb.tensor(3 + 4j, dtype=wb.complex128, requires_grad=True)
    (found,) = wb.autograd.grad(function(z), z)
    np.testing.assert_allclose(found.item(), expected, rtol=1e-9)


@pytest.mark.parametrize("function", [wb.abs, wb.angle, lambda z: wb.real(wb.sgn(z))])
def test_gradients_at_the_complex_origin_are_zero(function: Callable[..., Any]) -> None:
    z = wb.tensor(0j, requires_grad=True)
    (found,) = wb.autograd.grad(function(z), z)
    assert found.item() == 0


def test_gradients_of_parts_go_into_complex_and_polar() -> None:
    a, b = (wb.tensor([value], dtype=wb.float64, requires_grad=True) for value in (1.5, 0.5))
    for build in (wb.complex, wb.polar):
        z = build(a, b)
        got = wb.autograd.grad((z.real * 2 + z.imag * 3).sum(), [a, b])
        step = 1e-6
        for i, one in enumerate(got):
            values = []
            for sign in (1, -1):
                moved = [a.item() + sign * step * (i == 0), b.item() + sign * step * (i == 1)]
                w = complex(*moved) if build is wb.complex else moved[0] * np.exp(1j * moved[1])
                values.append(2 * w.real + 3 * w.imag)
            assert one.item() == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-6)


def test_view_as_complex_carries_gradients() -> None:
    x = wb.tensor([[1.0, 2.0]], requires_grad=True)
    wb.view_as_complex(x).imag.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0, 1.0]]


def test_parts_are_views() -> None:
    z = wb.tensor([1 + 2j, 3 + 4j], names=("C",))
    z.real.fill_(0)
    z.imag[0] = 9
    assert z.tolist() == [9j, 4j]
    wb.view_as_real(z)[1, 0] = 5
    assert z.tolist() == [9j, 5 + 4j]
    assert wb.view_as_real(z).names == ("C", None)
    assert wb.view_as_complex(wb.view_as_real(z)).names == ("C",)
    pairs = wb.zeros(3, 2)
    wb.view_as_complex(pairs).fill_(1 + 2j)
    assert pairs.tolist() == [[1.0, 2.0]] * 3


def test_real_numbers_are_their_own_conjugate_and_real_part() -> None:
    x = wb.ones(2)
    assert wb.conj(x) is x
    assert wb.real(x) is x
    assert wb.angle(wb.tensor([-1.0, 2.0, math.nan])).tolist()[:2] == [pytest.approx(math.pi), 0.0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: wb.imag(wb.ones(2)), wb.DTypeError, "not implemented for tensors with non-complex dtypes"),
        (
            lambda: wb.complex(wb.ones(2), wb.ones(2).double()),
            wb.DTypeError,
            "Expected object of scalar type",
        ),
        (lambda: wb.complex(wb.tensor([1]), wb.tensor([1])), wb.DTypeError, "float32 or float64"),
        (lambda: wb.view_as_real(wb.ones(2)), wb.DTypeError, "only supported for complex"),
        (lambda: wb.tensor([1j]) < wb.tensor([2j]), wb.DTypeError, "no order"),
        (lambda: wb.floor(wb.tensor([1j])), wb.DTypeError, "no order"),
        (lambda: -wb.tensor([True]), wb.DTypeError, "logical_not"),
        (lambda: wb.tensor([True]) - wb.tensor([True]), wb.DTypeError, "logical_xor"),
        (lambda: wb.add(wb.tensor([1]), 1, alpha=0.5), wb.DTypeError, "must not be a floating point number"),
        (lambda: wb.div(wb.ones(2), 1, rounding_mode="up"), ValueError, "'trunc', or 'floor'"),
        (lambda: wb.tensor([1]) ** -1, RuntimeError, "negative integer powers"),
        (lambda: wb.floor_divide(wb.tensor([1]), 0), RuntimeError, "ZeroDivisionError"),
        (lambda: wb.remainder(wb.tensor([1]), 0), RuntimeError, "ZeroDivisionError"),
        (lambda: wb.addcdiv(wb.ones(1), wb.tensor([1]), wb.tensor([1])), wb.DTypeError, "Integer division"),
        (lambda: wb.bitwise_and(wb.ones(2), wb.ones(2)), wb.DTypeError, "integer tensors"),
        (lambda: wb.gcd(wb.tensor([True]), wb.tensor([True])), wb.DTypeError, "integer tensors"),
        (lambda: wb.clamp(wb.ones(2)), ValueError, "At least one|at least one"),
        (lambda: wb.masked_fill(wb.ones(2), wb.ones(2), 0), wb.DTypeError, "boolean masks"),
        (lambda: wb.masked_fill(wb.ones(2), wb.ones(2) > 0, wb.ones(2)), wb.DimensionError, "0-dimensional"),
        (lambda: wb.masked_fill(wb.ones(2), wb.ones(2) > 0, 1j), wb.DTypeError, "complex value"),
        (lambda: wb.isclose(wb.ones(1), wb.ones(1).double()), RuntimeError, "did not match"),
        (lambda: wb.isclose(wb.ones(1), wb.ones(1), rtol=-1), ValueError, "greater than or equal"),
        (lambda: wb.polygamma(-1, wb.ones(1)), RuntimeError, "negative n"),
        (lambda: F.softshrink(wb.ones(1), -1), ValueError, "greater or equal to 0"),
        (lambda: F.gelu(wb.ones(1), "sometimes"), ValueError, "either none or tanh"),
        (lambda: F.glu(wb.ones(3)), wb.DimensionError, "must be even"),
        (lambda: F.hardtanh(wb.ones(1), 2, 1), ValueError, "cannot be greater"),
        (lambda: wb.prelu(wb.ones(2, 3), wb.ones(2)), wb.DimensionError, "channel size = 3"),
    ],
)
def test_refusals(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


# ---------------------------------------------------------------------------------------- names and types


def test_names_pass_and_unify() -> None:
    x = wb.tensor([[0.5, 2.0]], names=("N", "C"))
    row = wb.tensor([1.0, 1.5], names=("C",))
    for function in (
        wb.atan2,
        wb.fmax,
        wb.remainder,
        wb.hypot,
        wb.logaddexp,
        wb.xlogy,
        wb.clamp_min,
        wb.isclose,
    ):
        assert function(x, row).names == ("N", "C")
    for function in (wb.frac, wb.sinc, wb.erf, F.gelu, F.mish, wb.logit, wb.square, wb.clone, wb.nan_to_num):
        assert function(x).names == ("N", "C")
    assert wb.lerp(x, row, 0.5).names == ("N", "C")
    assert wb.masked_fill(x, row > 1, 0).names == ("N", "C")
    assert F.glu(x, "C").names == ("N", "C")
    assert wb.prelu(x, wb.ones(C=2)).names == ("N", "C")
    with pytest.raises(wb.DimensionError, match="do not match"):
        wb.atan2(x, row.rename(C="H"))


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda i: wb.sin(i), wb.float32),
        (lambda i: wb.floor(i), wb.int64),
        (lambda i: wb.round(i), wb.int64),
        (lambda i: i / 2, wb.float32),
        (lambda i: wb.div(i, 2, rounding_mode="trunc"), wb.int64),
        (lambda i: wb.clamp(i, max=2), wb.int64),
        (lambda i: wb.clamp(i, max=2.5), wb.float32),
        (lambda i: wb.square(i > 0), wb.int64),
        (lambda i: wb.where(i > 1, 1.0, 0.0), wb.float32),
        (lambda i: wb.where(i > 1, i, 0.5), wb.float32),
        (lambda i: wb.float_power(i, 2), wb.float64),
        (lambda i: wb.abs(i + 1j), wb.float32),
        (lambda i: wb.masked_fill(i, i > 1, 2.7), wb.int64),
        (lambda i: F.relu6(i), wb.int64),
        (lambda i: wb.polar(i.double(), i.double()), wb.complex128),
    ],
)
def test_types(call: Callable[[Any], Any], dtype: Any) -> None:
    assert call(wb.tensor([1, 2, 3])).dtype is dtype


@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        ("half", "float16"), ("bfloat16", "bfloat16"), ("float", "float32"), ("double", "float64"),
        ("cfloat", "complex64"), ("cdouble", "complex128"), ("char", "int8"), ("byte", "uint8"), ("short", "int16"),
        ("int", "int32"), ("long", "int64"), ("bool", "bool"),
    ],
)  # fmt: skip
def test_casts(method: str, dtype: str) -> None:
    x = wb.tensor([0.0, 2.0], names=("C",))
    cast = getattr(x, method)()
    assert cast.dtype.name == dtype
    assert cast.names == ("C",)
    assert getattr(cast, method)() is cast


def test_integers_divide_exactly() -> None:
    large = wb.tensor([2**62 + 1, -(2**62) - 1])
    assert wb.div(large, 3, rounding_mode="trunc").tolist() == [(2**62 + 1) // 3, -((2**62 + 1) // 3)]
    assert wb.div(large, 3, rounding_mode="floor").tolist() == [(2**62 + 1) // 3, (-(2**62) - 1) // 3]
    assert wb.fmod(wb.tensor([-7]), 2).tolist() == [-1]
    assert wb.remainder(wb.tensor([-7]), 2).tolist() == [1]


def test_integers_to_negative_powers_of_tensors() -> None:
    found = wb.pow(wb.tensor([1, -1, -1, 2]), wb.tensor([-3, -3, -2, -1]))
    assert found.tolist() == [1, -1, 1, 0]


def test_numbers_beyond_a_type_wrap_around() -> None:
    assert (wb.tensor([1], dtype=wb.uint8) + -3).tolist() == [254]


def test_bounds_may_be_tensors() -> None:
    x = wb.tensor([-1.0, 0.5, 3.0], requires_grad=True)
    low, high = wb.tensor(0.0, requires_grad=True), wb.tensor([1.0, 1.0, 1.0], requires_grad=True)
    wb.clamp(x, low, high).sum().backward()
    assert x.grad is not None and low.grad is not None and high.grad is not None
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    assert low.grad.item() == 1.0
    assert high.grad.tolist() == [0.0, 0.0, 1.0]


def test_equal_compares_names_too() -> None:
    x = wb.tensor([1.0], names=("C",))
    assert wb.equal(x, x.clone())
    assert not wb.equal(x, x.rename(None))
    assert not wb.equal(x, wb.tensor([1.0, 2.0]))


def test_sums_of_several_ops_are_rounded_once_in_half_precision() -> None:
    x = np.linspace(-4, 4, 101, dtype=np.float16)
    for function in (F.silu, F.gelu, F.mish, F.softsign):
        found = function(wb.from_numpy(x)).numpy()
        exact = function(wb.from_numpy(x.astype(np.float32))).numpy().astype(np.float16)
        assert found.dtype == np.float16
        np.testing.assert_array_equal(found, exact)


def test_activations_in_place() -> None:
    x = wb.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]
    assert F.hardtanh_(x) is x
    assert x.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("dtype", [wb.bfloat16, wb.float16, wb.float32, wb.float64], ids=str)
def test_infinities_become_the_largest_of_their_own_type(dtype: wb.dtype) -> None:
    x = wb.tensor([wb.inf, -wb.inf, wb.nan, 1.0], dtype=dtype)
    most = wb.finfo(dtype).max
    assert wb.nan_to_num(x).tolist() == [most, -most, 0.0, 1.0]
    assert x.nan_to_num(posinf=2.0).tolist() == [2.0, -most, 0.0, 1.0]
    assert x.nan_to_num(neginf=2.0).tolist() == [most, 2.0, 0.0, 1.0]
    assert x.nan_to_num_().tolist() == [most, -most, 0.0, 1.0]
