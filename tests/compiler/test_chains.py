"""Chains beside the ops that they are made of: every op, random graphs, every layout, any number of threads."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.kernels.judge import compare, threads, ways
from tests.kernels.layouts import LAYOUTS
from workbench import kernels
from workbench.compiler.chain_slots import ChainCode
from workbench.compiler.chain_steps import RULES, NotAChain
from workbench.compiler.chains import chain_code, has_rule
from workbench.core.op import Op, ops, table
from workbench.graph import Graph, passes, trace
from workbench.graph.blocks import values_in
from workbench.kernels.loader import native

pytestmark = pytest.mark.skipif(not kernels.available(), reason=f"compiled kernels: {kernels.reason()}")

WITH_RULE = [op for op in table() if op.name in RULES]
EXACT = {
    "abs", "add", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "clamp", "clamp_max", "clamp_min",
    "clone", "div", "eq", "floor", "ge", "gt", "hardtanh", "isfinite", "isinf", "isnan", "le", "leaky_relu",
    "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "maximum", "minimum", "mul", "ne", "neg", "prelu",
    "reciprocal", "relu", "relu_gradient", "round", "rsqrt", "sign", "sqrt", "sub", "threshold", "to", "trunc", "where",
}  # fmt: skip
"""Ops that are rounded once, or not at all: a chain gives the very bits."""
SIZES = (0, 1, 15, 64, 127, 128, 129, 300, 1000)
"""Around the ends of groups, which are of 128 values of four bytes at most."""


def graph_of(function: Any, *arrays: Any) -> Graph:
    return trace(function, *[wb.tensor(one) for one in arrays])


def run(code: ChainCode, *arrays: Any) -> Any:
    found = code.built()(*arrays)
    return found[0] if len(found) == 1 else tuple(found)


def sampled(op: Op, dtype: Any) -> Any:
    """Yield the samples of an op as chains: their code, and what is given to them."""
    for sample in op.samples():
        inputs = [_as(one, dtype) for one in sample.inputs]
        arrays = [one for one in inputs if isinstance(one, np.ndarray)]

        def function(*tensors: Any, inputs: Any = inputs, params: Any = sample.params) -> Any:
            rest = iter(tensors)
            return op(*[next(rest) if isinstance(one, np.ndarray) else one for one in inputs], **params)

        try:
            code = chain_code(graph_of(function, *arrays))
        except NotAChain:
            continue

        def oracle(*arrays: Any, inputs: Any = inputs, params: Any = sample.params) -> Any:
            rest = iter(arrays)
            given = [next(rest) if isinstance(one, np.ndarray) else one for one in inputs]
            return np.asarray(op.forward(*given, **params))

        yield code, oracle, arrays


def _as(one: Any, dtype: Any) -> Any:
    return one.astype(dtype) if isinstance(one, np.ndarray) and one.dtype.kind == "f" else one


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", WITH_RULE, ids=lambda op: op.name)
def test_a_chain_of_one_op_gives_what_the_op_gives_however_operands_lie(op: Op, dtype: str) -> None:
    ran = 0
    tolerance = 0.0 if op.name in EXACT else 1e-6 if dtype == "float32" else 1e-13
    for code, oracle, arrays in sampled(op, dtype):
        for where, layouts in ways(arrays):
            try:
                compare(
                    lambda *given, code=code: run(code, *given), oracle, (tuple(arrays), {}), layouts,
                    rtol=tolerance, atol=tolerance / 8,
                )  # fmt: skip
            except AssertionError as error:
                shapes = [one.shape for one in arrays]
                raise AssertionError(f"{op.name} of {shapes}, {where}: {error}") from error
            ran += 1
    # Of bits of whole numbers, and bool alone, the samples of real numbers say nothing; a chain drops by a run's seed.
    assert ran or op.name.startswith("bitwise") or op is ops.dropout


@pytest.mark.parametrize("op", WITH_RULE, ids=lambda op: op.name)
def test_what_is_not_finite_becomes_what_it_does_in_the_kernels(op: Op) -> None:
    ends = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, -3e38, 1.0, -1.0, 88.0, -88.0, 104.0, -104.0,
         0.5, -0.5, 16777217.0],
        np.float32,
    )  # fmt: skip
    for sample in op.samples():
        count = sum(isinstance(one, np.ndarray) for one in sample.inputs)
        if not count or any(isinstance(one, np.ndarray) and one.dtype.kind != "f" for one in sample.inputs):
            continue
        # Every end with every other; the same values again, so that kernels take them.
        grids = np.meshgrid(*[ends] * count, indexing="ij")
        arrays = [np.ascontiguousarray(np.tile(one.reshape(-1), 16384 // one.size + 1)) for one in grids]

        def function(*tensors: Any, sample: Any = sample) -> Any:
            rest = iter(tensors)
            inputs = [next(rest) if isinstance(one, np.ndarray) else one for one in sample.inputs]
            return op(*inputs, **sample.params)

        try:
            code = chain_code(graph_of(function, *arrays))
        except NotAChain:
            continue
        with np.errstate(all="ignore"):
            expected = function(*[wb.tensor(one) for one in arrays]).numpy()
        found = run(code, *arrays)
        np.testing.assert_allclose(
            found.astype(np.float64), expected.astype(np.float64), rtol=2e-6, atol=1e-37,
            err_msg=f"{op.name} {sample.params}",
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------ random graphs

ONE = ("relu", "neg", "abs", "tanh", "sigmoid", "exp", "gelu", "silu", "hardswish", "erf", "sin")
TWO = ("add", "sub", "mul", "maximum", "minimum")
ASKED = ("lt", "ge")


@st.composite
def programs(draw: Any) -> list[tuple[Any, ...]]:
    """Draw the lines of a function of three tensors: an op, and which values it reads."""
    lines: list[tuple[Any, ...]] = []
    for made in range(3, 3 + draw(st.integers(1, 25))):
        some = st.integers(0, made - 1)
        kind = draw(st.sampled_from(("one", "two", "two", "number", "where")))
        if kind == "one":
            lines.append((draw(st.sampled_from(ONE)), draw(some)))
        elif kind == "two":
            lines.append((draw(st.sampled_from(TWO)), draw(some), draw(some)))
        elif kind == "number":
            number = draw(st.floats(-2, 2, width=16))
            lines.append((draw(st.sampled_from(TWO)), draw(some), number, draw(st.booleans())))
        else:
            lines.append(("where", draw(st.sampled_from(ASKED)), *[draw(some) for _ in range(4)]))
    return lines


def follow(lines: list[tuple[Any, ...]], results: list[int], *tensors: Any) -> Any:
    """Run a function that was drawn."""
    known = list(tensors)
    for name, *of in lines:
        if name == "where":
            known.append(
                ops.where(getattr(ops, of[0])(known[of[1]], known[of[2]]), known[of[3]], known[of[4]])
            )
        elif len(of) == 3:
            pair = (of[1], known[of[0]]) if of[2] else (known[of[0]], of[1])
            known.append(getattr(ops, name)(*pair))
        else:
            known.append(getattr(ops, name)(*[known[i] for i in of]))
        # Bounded, so that nothing overflows.
        known[-1] = ops.clamp(known[-1], low=-2.0, high=2.0)
    # All results have the sizes of all operands together.
    found = tuple(ops.add(known[-1 - i], tensors[0]) for i in results)
    return found if len(found) > 1 else found[0]


@settings(max_examples=150, deadline=None)
@given(
    lines=programs(), several=st.booleans(), size=st.sampled_from(SIZES), rows=st.sampled_from((1, 2, 3)),
    seed=st.integers(0, 1000), ways=st.tuples(*[st.integers(0, 4)] * 2),
)  # fmt: skip
def test_random_graphs_run_as_chains(
    lines: Any, several: bool, size: int, rows: int, seed: int, ways: tuple[int, int]
) -> None:
    generator = np.random.default_rng(seed)
    results = [0, len(lines) // 2] if several else [0]
    arrays = [generator.standard_normal((rows, size)).astype("f4") for _ in range(3)]
    arrays[1:] = [_stretching(one, way) for one, way in zip(arrays[1:], ways, strict=True)]
    code = chain_code(graph_of(lambda *tensors: follow(lines, results, *tensors), *arrays))
    found = code.built()(*arrays)

    def alike(dtype: Any) -> list[Any]:
        out = follow(lines, results, *[wb.tensor(one.astype(dtype)) for one in arrays])
        return [one.numpy() for one in (out if several else (out,))]

    # Errors grow from line to line, and in both ways alike: numbers in double precision say how far.
    for have, eager, exact in zip(found, alike("f4"), alike("f8"), strict=True):
        far = np.abs(eager - exact).max(initial=0.0)
        assert have.shape == eager.shape
        np.testing.assert_allclose(have, exact, rtol=0, atol=16 * far + 2e-6)


def _stretching(array: Any, way: int) -> Any:
    """Return an array that broadcasts to the sizes of `array`, or lies otherwise."""
    return (array, array[:, :1], array[:1], array[::-1, ::-1], np.asfortranarray(array))[way]


EXACT_OPS = ("add", "sub", "mul", "maximum", "minimum", "div")


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(st.tuples(st.sampled_from(EXACT_OPS), st.integers(0, 2), st.booleans()), min_size=2, max_size=40),
    size=st.sampled_from(SIZES), layout=st.integers(0, len(LAYOUTS) - 1),
)  # fmt: skip
def test_chains_of_arithmetic_give_the_very_bits_of_eager_evaluation(
    names: Any, size: int, layout: int
) -> None:
    generator = np.random.default_rng(len(names))
    arrays = [generator.standard_normal((size, 3)).astype(np.float32) for _ in range(2)]

    def function(x: Any, y: Any) -> Any:
        known = [x, y, x]
        for name, other, swapped in names:
            pair = (known[-1], (known[other], y, 0.7)[other])
            known.append(getattr(ops, name)(*(pair[::-1] if swapped else pair)))
        return known[-1]

    laid = [LAYOUTS[layout](one) for one in arrays]
    code = chain_code(graph_of(function, *arrays))
    found = run(code, *[one.array for one in laid])
    with np.errstate(all="ignore"):
        expected = function(*[wb.tensor(np.array(one.array)) for one in laid]).numpy()
    np.testing.assert_array_equal(found, expected)


# --------------------------------------------------------------------------------------------------- the rest


def many(x: Any, y: Any) -> Any:
    a = x * y + 1.5
    b = a.sigmoid() * a
    return wb.where(b > 0.2, b, y).tanh() - x / (y * y + 1)


@pytest.mark.parametrize("shape", [(100_000,), (300, 333), (7, 5, 3, 1001)])
def test_any_number_of_threads_gives_the_same_bits(shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(3)
    x, y = generator.standard_normal(shape).astype("f4"), generator.standard_normal(shape[-1:]).astype("f4")
    chain = chain_code(graph_of(many, x, y)).built()
    results = []
    for count in (1, 2, 3, 8):
        with threads(count):
            results += [chain(x, y)[0], chain(x, y)[0]]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    np.testing.assert_allclose(results[0], many(wb.tensor(x), wb.tensor(y)).numpy(), rtol=1e-5, atol=1e-6)


def test_a_chain_computes_with_whole_numbers_and_truth() -> None:
    x = np.array([5, -3, 2**40, -(2**62), 0], np.int64)
    y = np.array([1, 2, 3, 4, 5], np.int64)

    def function(a: Any, b: Any) -> Any:
        return wb.where((a > b) | (a == 0), a * b - 7, -abs(a))

    code = chain_code(graph_of(function, x, y))
    assert code.dtype == "int64"
    np.testing.assert_array_equal(run(code, x, y), function(wb.tensor(x), wb.tensor(y)).numpy())
    asked = chain_code(graph_of(lambda a, b: ~((a > b) & (b != 3)), x, y))
    assert asked.outputs == ("bool",)
    np.testing.assert_array_equal(run(asked, x, y), ~((x > y) & (y != 3)))


def test_a_chain_takes_other_types_where_they_are_cast() -> None:
    x = np.linspace(-2, 2, 150).astype(np.float32)
    codes, mask = np.arange(150, dtype=np.int64), np.arange(150) % 3 == 0

    def function(a: Any, i: Any, m: Any) -> Any:
        return wb.where(m, a * i, a) + m.float()

    code = chain_code(graph_of(function, x, codes, mask))
    assert code.inputs == ("float32", "int64", "bool")
    np.testing.assert_array_equal(
        run(code, x, codes, mask), function(wb.tensor(x), wb.tensor(codes), wb.tensor(mask)).numpy()
    )


def test_bfloat16_is_rounded_after_each_op_as_eager_evaluation_does() -> None:
    generator = np.random.default_rng(1)
    x, y = (generator.standard_normal(2000).astype(ml_dtypes.bfloat16) for _ in range(2))

    def function(a: Any, b: Any) -> Any:
        return ((a * b + 0.3).relu() - b).tanh() * 3

    code = chain_code(graph_of(function, x, y))
    assert (code.dtype, code.outputs) == ("float32", ("bfloat16",))
    found, expected = run(code, x, y), function(wb.tensor(x), wb.tensor(y)).numpy()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.astype("f4"), expected.astype("f4"))


ACTIVATIONS = (
    "relu", "tanh", "sigmoid", "gelu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh", "elu", "softplus",
    "leaky_relu", "logsigmoid", "softshrink", "hardshrink",
)  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_and_its_gradient_are_one_chain(name: str) -> None:
    generator = np.random.default_rng(5)
    x, y, g = (generator.standard_normal((7, 45)).astype("f4") * 2 for _ in range(3))
    activation = getattr(wb.nn.functional, name)

    def function(a: Any, b: Any) -> Any:
        return activation(a * b + 0.5) * b

    both = passes.differentiate(graph_of(function, x, y), ["a", "b"])
    both.outputs = tuple(values_in(both.outputs))
    found = dict(zip([one.name for one in both.outputs], run(chain_code(both), x, y, g), strict=True))
    a, b = wb.tensor(x, requires_grad=True), wb.tensor(y, requires_grad=True)
    result = function(a, b)
    expected = [result.detach(), *wb.autograd.grad(result, [a, b], wb.tensor(g))]
    for have, want in zip(found.values(), expected, strict=True):
        # As 1 - tanh² does, slopes cancel near 0: what they are off is a part of what they are multiplied by.
        np.testing.assert_allclose(have, want.numpy(), rtol=2e-6, atol=5e-7 * np.abs(want.numpy()).max())


def test_a_step_of_an_optimizer_is_one_chain() -> None:
    generator = np.random.default_rng(6)
    weight, gradient, first = (generator.standard_normal(1000).astype("f4") for _ in range(3))
    second = np.abs(generator.standard_normal(1000)).astype("f4")

    def adam(w: Any, g: Any, m: Any, v: Any) -> Any:
        m = m * 0.9 + g * 0.1
        v = v * 0.999 + g * g * 0.001
        return w - 0.001 * (m / 0.19) / ((v / 0.002).sqrt() + 1e-8), m, v

    given = (weight, gradient, first, second)
    code = chain_code(graph_of(adam, *given))
    for have, want in zip(run(code, *given), adam(*map(wb.tensor, given)), strict=True):
        np.testing.assert_array_equal(have, want.numpy())


def test_what_is_stretched_to_the_result_is_read_as_it_lies() -> None:
    generator = np.random.default_rng(2)
    x = generator.standard_normal((4, 6, 20, 20)).astype("f4")
    scale, one = generator.standard_normal((6, 1, 1)).astype("f4"), np.array(2.5, np.float32)
    code = chain_code(graph_of(lambda a, b, c: (a * b + c).relu(), x, scale, one))
    for laid in (x, np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1), x[::-1, ::-1, ::-2]):
        found = run(code, laid, scale, one)
        np.testing.assert_array_equal(found, np.maximum(laid * scale + one, 0))
    # In memory the result lies as the input does.
    assert (
        run(code, np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1), scale, one).strides[1] == 4
    )


def test_long_and_wide_functions_find_room_or_are_refused() -> None:
    def long(x: Any) -> Any:
        for i in range(700):
            x = x * 0.99 + 0.01 * (i % 7)
        return x

    x = np.linspace(-1, 1, 333).astype(np.float32)
    code = chain_code(graph_of(long, x))
    assert code.temporaries == 0
    np.testing.assert_array_equal(run(code, x), long(wb.tensor(x)).numpy())

    def wide(x: Any) -> Any:
        parts = [x * float(i) for i in range(140)]
        return sum(parts[::-1], x)

    with pytest.raises(NotAChain, match=r"it needs .* slots; there are 128"):
        chain_code(graph_of(wide, x))


@pytest.mark.parametrize(
    ("function", "given", "words"),
    [
        (lambda x: x.sum(), (np.ones(3, "f4"),), "sum is no op that a chain has"),
        (lambda x: x.lgamma(), (np.ones(3, "f4"),), "lgamma is no op that a chain has"),
        (lambda x: x.double() * 2, (np.ones(3, "f4"),), None),
        (lambda x: (x * 2).double() * 2, (np.ones(3, "f4"),), "computes in several types: float32, float64"),
        (lambda x: x * 2, (np.ones(3, "u1"),), "x is uint8; a chain knows"),
        (
            lambda x, i: (i > 3) * x,
            (np.ones(3, "f4"), np.ones(3, "i8")),
            "compares int64 in a chain of float32",
        ),
        (lambda x: x & 3, (np.ones(3, "i8"),), "works on the bits of whole numbers"),
        (lambda x: x.clamp(float("nan"), 2.0), (np.ones(3, "f4"),), "a bound is NaN"),
        (
            lambda x: x.long() * 2,
            (np.ones(3, "f4"),),
            "is float32 in a chain of int64|makes whole numbers of real",
        ),
        (lambda x: (x * 2, [x]), (np.ones(3, "f4"),), "returns something else than tensors"),
    ],
)
def test_what_is_no_chain_is_refused_in_words(function: Any, given: Any, words: str | None) -> None:
    graph = graph_of(function, *given)
    if words is None:
        chain_code(graph)
        return
    with pytest.raises(NotAChain, match=words):
        chain_code(graph)


def test_sizes_among_operands_are_asked_for() -> None:
    x = np.ones((4, 3), np.float32)
    graph = graph_of(lambda a: a * a.shape[0], x)
    with pytest.raises(NotAChain, match="reads the size"):
        chain_code(graph)
    np.testing.assert_array_equal(run(chain_code(graph, lambda size: 4), x), x * 4)


def test_nodes_are_asked_before_they_are_put_together() -> None:
    graph = graph_of(lambda x: (x * 2).lgamma().exp(), np.ones(3, "f4"))
    assert [has_rule(node) for node in graph.nodes] == [True, False, True]


# ---------------------------------------------------------------------------------- what C++ makes of wrong code

LOAD, STORE, ADD, EXP, DIV = ("load", "store", "add", "exp", "div")


def made(
    *instructions: tuple[Any, ...], dtype: str = "float32", inputs: Any = ("float32",), **more: Any
) -> Any:
    known = native.compiled.chain_operations
    code = [
        (known[name][0] if isinstance(name, str) else name, *slots, *(0,) * (4 - len(slots)))
        for name, *slots in instructions
    ]
    outputs, constants, temporaries = (
        more.get("outputs", (dtype,)),
        more.get("constants", ()),
        more.get("temporaries", 0),
    )
    return native.compiled.Chain(dtype, inputs, outputs, constants, temporaries, code)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: made((ADD, 0), (STORE, 1)), "add before anything is loaded"),
        (lambda: made((LOAD, 0)), "result 0 is never stored"),
        (lambda: made((LOAD, 0), (STORE, 0)), "slot 0 cannot be written"),
        (lambda: made((LOAD, 1), (STORE, 1)), "slot 1 is read and nothing is there"),
        (lambda: made((LOAD, 2), (STORE, 1), temporaries=1), "slot 2 is read and nothing is there"),
        (lambda: made((LOAD, 7), (STORE, 1)), "slot 7 is not there"),
        (lambda: made((LOAD, -1), (STORE, 1)), "slot -1 is not there"),
        (lambda: made((999, 0), (STORE, 1)), "instruction 999 is not known"),
        (lambda: made((-1, 0), (STORE, 1)), "instruction -1 is not known"),
        (lambda: made((LOAD, 0), (STORE, 1), temporaries=500), "a chain of 502 slots: it may have 128"),
        (lambda: made((LOAD, 0), (STORE, 1), temporaries=-1), "slots: it may have 128"),
        (lambda: made((LOAD, 0), (EXP,), (STORE, 1), dtype="int64", inputs=("int64",)), "exp of whole numbers"),
        (lambda: made((LOAD, 0), (STORE, 1), dtype="int64"), "a chain of whole numbers takes no real ones"),
        (lambda: made((LOAD, 0), (STORE, 1), dtype="bool"), "a chain computes in float32, float64, int32 or int64"),
        (lambda: made((LOAD, 0), ("softshrink", 0), (STORE, 1)), "a number of softshrink is no constant"),
        (lambda: made((LOAD, 0), (STORE, 1), outputs=("int64",)), "gives its own type, real numbers or bool"),
        (lambda: made((LOAD, 0), (STORE, 1), inputs=("float16",)), "a chain knows no type float16"),
        (lambda: made((LOAD, 0), outputs=()), "a chain without results"),
    ],
)  # fmt: skip
def test_code_that_would_read_or_write_elsewhere_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_a_chain_takes_what_it_was_made_for() -> None:
    chain = made((LOAD, 0), (ADD, 1), (STORE, 2), inputs=("float32", "float32"))
    x = np.ones(5, np.float32)
    with pytest.raises(ValueError, match="a chain of 2 inputs is given 1"):
        chain(x)
    with pytest.raises(TypeError, match="input 1 of a chain is not of the type"):
        chain(x, x.astype(np.float64))
    with pytest.raises(ValueError, match="do not broadcast"):
        chain(x, np.ones(4, np.float32))


SCRIPT = """
import sys
import numpy as np
from workbench.kernels.loader import native
known = native.compiled.chain_operations
x = np.concatenate([np.linspace(-9, 9, 777), [0.0, 1e-40, 1e30]]).astype(sys.argv[2])
code = {}
for name, (number, operands, numbers) in sorted(known.items()):
    if name in ("load", "store"):
        continue
    slots = [(1, 4)[i] for i in range(operands)] + [3, 4, 3][:numbers]
    slots += [0] * (4 - len(slots))
    given = [sys.argv[2]] * 2
    if name in ("round_to_bfloat16", "drop") and sys.argv[2] != "float32":
        continue
    other = x[::-1].copy()
    if name == "drop":  # a third of them, by a seed
        given[1], slots, other = "int64", [1, 5, 4, 3], np.array(12345678901, np.int64)
    chain = native.compiled.Chain(sys.argv[2], given, given[:1], [0.5, 2.0, 22000.0], 0,
                                  [(known["load"][0], 0, 0, 0, 0), (number, *slots), (known["store"][0], 2, 0, 0, 0)])
    code[name] = chain(x, other)[0]
np.savez(sys.argv[1], **code)
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_set_of_instructions_computes_the_same(dtype: str, tmp_path: pathlib.Path) -> None:
    found = []
    for level in ("baseline", "avx2", ""):
        path = tmp_path / f"{level or 'newest'}.npz"
        environment = {**os.environ, "WORKBENCH_KERNELS_ISA": level}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(path), dtype], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        with np.load(path) as archive:
            found.append(dict(archive))
    tolerance = 2e-6 if dtype == "float32" else 1e-13
    for name, expected in found[0].items():
        for other in found[1:]:
            np.testing.assert_allclose(other[name], expected, rtol=tolerance, atol=tolerance, err_msg=name)
