"""What holds of every network in codes, however it came about: judged of one network at a time."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import workbench as wb
from tests.quantization.random_draws import Random, pick
from tests.quantization.random_modules import Plan, joins, make
from workbench import quantization as q
from workbench.base.quantized_array import QuantizedArray, code_range

__all__ = ["data", "static"]

Array = np.ndarray[Any, Any]
DATA = (
    "plain",
    "plain",
    "plain",
    "positive",
    "outlier",
    "constant",
    "zero",
    "huge",
    "tiny",
    "denormal",
    "dead channels",
)


def data(random: Random, size: tuple[int, ...], kind: str, batch: int = 6) -> Array:
    """Return a batch of values of one kind."""
    x = random.standard_normal((batch, *size)).astype(np.float32)
    if kind == "outlier":
        x[0].reshape(-1)[0] = 1e3
    elif kind == "dead channels":
        x[:, ::2] = 0
    made = {"positive": np.abs(x), "constant": np.full_like(x, 0.7), "zero": np.zeros_like(x)}
    scale = {"huge": 1e10, "tiny": 1e-18, "denormal": 1e-41}.get(kind, 1.0)
    return np.asarray(made.get(kind, x) * np.float32(scale), np.float32)


def numbers(value: Any) -> Array:
    """Return what a value stands for, as NumPy's array of its own."""
    with wb.no_grad():
        return np.array((value.dequantize() if value.is_quantized else value).detach().numpy())


def same(found: Any, expected: Any, what: str, apart: float = 0.0) -> None:
    """Assert that two answers are equal, NaN included, or no further apart than `apart`."""
    one, other = numbers(found), numbers(expected)
    assert one.shape == other.shape, f"{what}: sizes {one.shape} and {other.shape}"
    if apart:
        np.testing.assert_allclose(
            one,
            other,
            rtol=apart,
            atol=apart * float(np.abs(other[np.isfinite(other)]).max(initial=1e-30)),
            err_msg=what,
        )
    else:
        np.testing.assert_array_equal(one, other, err_msg=what)


@contextmanager
def without_kernels() -> Iterator[None]:
    """Have integer layers compute with NumPy, which is the oracle of the kernels."""
    off: list[Any] = [mock.patch("workbench.kernels.available", return_value=False)]
    places = {
        "pooling": ["_POOL"], "code_arithmetic": ["_SOFTMAX", "_NORM", "_PRODUCT"], "resampling": ["_KERNEL"],
        "tables": ["_ROWS", "_BAGS"],
    }  # fmt: skip
    off += [
        mock.patch(f"workbench.ops.quantized.{room}.{name}", None)
        for room, names in places.items()
        for name in names
    ]
    for one in off:
        one.start()
    try:
        yield
    finally:
        for one in off:
            one.stop()


def state(model: Any) -> dict[str, Any]:
    """Return all that a model holds, as arrays, to see that nothing changed."""
    found: dict[str, Any] = {}
    for name, one in model.state_dict().items():
        for place, part in enumerate(one if isinstance(one, tuple) else (one,)):
            found[f"{name}.{place}"] = numbers(part) if isinstance(part, wb.Tensor) else repr(part)
    return found


def unchanged(model: Any, before: dict[str, Any], what: str) -> None:
    after = state(model)
    assert after.keys() == before.keys(), what
    for name, one in before.items():
        np.testing.assert_array_equal(after[name], one, err_msg=f"{what}: {name}")


# ---------------------------------------------------------------------------------------- workflows


def qconfig(random: Random) -> Any:
    """Draw how layers are observed."""
    several = [
        *(q.get_default_qconfig(name) for name in ("x86", "qnnpack", "onednn")), q.default_qconfig,
        q.default_per_channel_qconfig, q.bits_qconfig(8, 4), q.bits_qconfig(4, 8), q.bits_qconfig(2, 2),
        q.QConfig(q.MinMaxObserver.with_args(), q.default_per_channel_weight_observer),
        q.QConfig(q.MovingAverageMinMaxObserver, q.default_weight_observer),
        q.QConfig(q.MinMaxObserver.with_args(qscheme=wb.per_tensor_symmetric), q.default_weight_observer),
        q.QConfig(q.HistogramObserver, q.default_per_channel_weight_observer),
    ]  # fmt: skip
    return pick(random, several)


def engine(random: Random) -> str:
    return str(pick(random, ["x86", "x86", "qnnpack", "onednn", "fbgemm"]))


@contextmanager
def computing_by(name: str) -> Iterator[None]:
    before = wb.backends.quantized.engine
    wb.backends.quantized.engine = name
    try:
        yield
    finally:
        wb.backends.quantized.engine = before


def static(plan: Plan) -> None:
    """Judge a network that is fused, prepared, calibrated and converted by layers."""
    random = np.random.default_rng([plan.seed, 1])
    config, kind, own_engine = qconfig(random), str(pick(random, DATA)), engine(random)
    x = wb.from_numpy(data(random, plan.size, kind))
    with computing_by(own_engine):
        before = make(wb, plan)
        fused = q.fuse_modules(before, [*joins(plan.body)])
        exact = before(x)
        same(fused(x), exact, "fusing", 2e-3)
        fused.qconfig = config
        held = state(fused)
        prepared = q.prepare(fused)
        same(prepared(x), fused(x), "preparing")
        integer = q.convert(prepared)
        unchanged(fused, held, "the model before")
        answer = integer(x)
        assert answer.shape == exact.shape
        by_layers(fused, integer, x)
        alike(integer, x, lambda: q.convert(calibrated(make(wb, plan), plan, config, x * 1.5 + 0.1)))
        refusals(integer, prepared, x)


def calibrated(model: Any, plan: Plan, config: Any, x: Any) -> Any:
    fused = q.fuse_modules(model, [*joins(plan.body)])
    fused.qconfig = config
    prepared = q.prepare(fused)
    prepared(x)
    return prepared


# --------------------------------------------------------------------------------------- the long way


def by_layers(fused: Any, integer: Any, x: Any) -> None:
    """Hold each integer layer to its layer in floating point: dequantize, compute, quantize; and to NumPy."""
    seen: list[tuple[str, Any, Any, Any]] = []
    names = {id(one): name for name, one in integer.named_modules()}

    def hook(module: Any, inputs: Any, output: Any) -> None:
        seen.append((names[id(module)], module, inputs[0], output))

    leaves = [one for one in integer.modules() if not [*one.children()]]
    stops = [one.register_forward_hook(hook) for one in leaves]
    integer(x)
    for stop in stops:
        stop()
    for name, module, given, output in seen:
        if not getattr(output, "is_quantized", False):
            continue
        with without_kernels():
            plain = module(given)
        codes, other = (one.int_repr().numpy().astype(np.int64) for one in (output, plain))
        assert codes.shape == other.shape, f"{name}: {codes.shape}, by NumPy {other.shape}"
        # A half may be met by sums in another order.
        assert np.abs(codes - other).max(initial=0) <= 1, f"{name} {module}: kernels and NumPy differ"
        assert np.count_nonzero(codes != other) <= max(1, codes.size // 20), (
            f"{name} {module}: kernels and NumPy differ often"
        )
        if isinstance(given, wb.Tensor) and given.is_quantized:
            long_way(name, fused.get_submodule(name), module, given, output)


def leaves_32_bits(given: Any, weight: Any, module: Any) -> bool:
    """Say whether QNNPACK's whole numbers do not hold a layer: a bias of 2³⁰ steps, or steps beyond the result's."""
    steps = given.q_scale() * np.asarray(weight.payload.scale)
    bias = module.bias if not callable(module.bias) else module.bias()
    # The channels of a transposed convolution have other scales than the biases of its groups.
    far = bias is not None and float(np.abs(numbers(bias)).max(initial=0)) > 2.0**30 * float(steps.min())
    return far or bool(np.any(steps > 0.5 * module.scale.item()))


def long_way(name: str, layer: Any, module: Any, given: Any, output: Any) -> None:
    layer = copy.deepcopy(layer)
    weight = getattr(module, "weight", None)
    weight = weight() if callable(weight) else weight
    if weight is not None and getattr(weight, "is_quantized", False):
        if wb.backends.quantized.engine == "qnnpack" and leaves_32_bits(given, weight, module):
            return
        inner = layer if hasattr(layer, "weight") else layer[0]
        inner.weight = wb.nn.Parameter(weight.dequantize())
    with wb.no_grad():
        wanted = layer.double()(given.dequantize().double()).numpy()
    payload: QuantizedArray = output.payload
    low, high = code_range(payload.dtype)
    observed = getattr(module, "quant_min", None), getattr(module, "quant_max", None)
    low, high = (own if one is None else one for one, own in zip(observed, (low, high), strict=True))
    with np.errstate(all="ignore"):
        steps = wanted / payload.scale + payload.zero_point
    steps = np.clip(np.nan_to_num(steps, nan=low, posinf=1e9, neginf=-1e9), low, high)
    apart = np.abs(output.int_repr().numpy() - steps)
    allowed = 1.01
    assert apart.max(initial=0) <= allowed, (
        f"{name} {module}: {apart.max():.2f} steps from the long way, in {np.count_nonzero(apart > allowed)} codes"
    )


# ------------------------------------------------------------------------------------------- travels


def alike(integer: Any, x: Any, other: Callable[[], Any]) -> None:
    """Assert that copies, states, pickles, graphs, archives and compiled forms give the same answers."""
    answer = integer(x)
    same(integer(x), answer, "calling again")
    same(copy.deepcopy(integer)(x), answer, "a deep copy")
    same(pickle.loads(pickle.dumps(integer))(x), answer, "a pickle")
    fresh = other()
    fresh.load_state_dict(integer.state_dict(), strict=True)
    same(fresh(x), answer, "a state in another")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.pt"
        wb.save(integer.state_dict(), path)
        fresh = other()
        fresh.load_state_dict(wb.load(path), strict=True)
        same(fresh(x), answer, "a state in a file")
        graph = wb.graph.trace(integer, x)
        same(graph(x), answer, "a trace")
        wb.save(graph, Path(folder) / "graph.wb")
        same(wb.load(Path(folder) / "graph.wb")(x), answer, "an archive")
    same(wb.jit.trace(integer, x)(x), answer, "a traced module")
    compiled = wb.compile(integer)
    same(compiled(x), answer, "compiled", 0.0)
    for count in (1, 0, 4):
        part = x[:count]
        expected = answer[:count]
        same(integer(part), expected, f"{count} samples")
        same(compiled(part), expected, f"{count} samples compiled")


def refusals(integer: Any, prepared: Any, x: Any) -> None:
    """Assert that what cannot be is refused in words, and that nothing changes."""
    ways: dict[str, Callable[[], Any]] = {
        "converting twice": lambda: q.convert(integer), "preparing codes": lambda: q.prepare(integer),
        "preparing twice": lambda: q.prepare(prepared), "codes of whole numbers": lambda: integer(x.long()),
        "another count of dims": lambda: integer(x[None, None, None]),
    }  # fmt: skip
    for what, call in ways.items():
        for model in (integer, prepared):
            before = state(model)
            try:
                call()
            except (
                wb.QuantizationError,
                wb.DTypeError,
                wb.DimensionError,
                ValueError,
                RuntimeError,
            ) as error:
                if len(str(error)) <= 20:
                    raise AssertionError(f"{what}: {error!r}") from error
            else:
                if what not in ("another count of dims",):
                    raise AssertionError(f"{what} is not refused")
            unchanged(model, before, what)
