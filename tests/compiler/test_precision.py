"""Programs that compute in bfloat16: as exact as autocast, the same in each run, and float32 outside."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.kernels.implementations import is_of_bfloat16
from tests.ops.sample_programs import Program, programs
from workbench import kernels, nn
from workbench.base.errors import DTypeError
from workbench.base.quantized_array import QuantizedArray
from workbench.base.sparse_array import SparseArray
from workbench.core.op import Op, table
from workbench.core.value import Value
from workbench.kernels.loader import native
from workbench.kernels.processor import multiplies_bfloat16
from workbench.testing.values import several

pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")
narrow = pytest.mark.skipif(
    not multiplies_bfloat16(), reason="the processor multiplies no bfloat16 by itself"
)

ROUNDING = 2.0**-8
"""What rounding a float32 to bfloat16 changes it by at most, relatively."""

F = nn.functional


def off(found: Any, exact: Any) -> float:
    """The largest difference, relative to the largest number."""
    return float(np.abs(found.numpy() - exact.numpy()).max() / np.abs(exact.numpy()).max())


class Mixed(nn.Module):
    """Layers, groups, functions of their results, joining, norms and a reduction that has no narrow step."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.each = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.gate, self.last = nn.Conv2d(16, 16, 1), nn.Linear(32, 10)
        self.norm, self.scale = nn.LayerNorm(32), nn.Parameter(wb.rand(16, 1, 1))

    def forward(self, x: Any) -> Any:
        y = F.silu(self.first(x))
        y = self.each(y) * self.gate(y.mean((2, 3), keepdim=True)).sigmoid() + y
        y = wb.cat([y * self.scale, F.gelu(y) * 0.5], 1)
        z = (y.exp() / (1 + y.abs())).amax((2, 3)) - y.sum((2, 3)) * 0.01
        return self.last(self.norm(z)).softmax(-1)


def networks() -> dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]]:
    sizes = wb.models.BertSettings(words=50, features=24, layers=2, heads=3, hidden=48, positions=16)
    return {
        "mixed": lambda: (Mixed(), (wb.randn(2, 3, 20, 20),)),
        "resnet18": lambda: (wb.models.resnet18(), (wb.randn(2, 3, 64, 64),)),
        "mobilenet_v2": lambda: (wb.models.mobilenet_v2(), (wb.randn(1, 3, 64, 64),)),
        "encoder": lambda: (wb.models.BertEncoder(sizes), (wb.randint(0, 50, (2, 5)), wb.ones(2, 5))),
    }


@narrow
@pytest.mark.parametrize("name", networks())
def test_networks_are_as_exact_as_under_autocast(name: str) -> None:
    wb.manual_seed(0)
    model, given = networks()[name]()
    model.eval()
    compiled = wb.compile(model, precision="bfloat16", fullgraph=True)
    with wb.no_grad():
        exact, found = model(*given), compiled(*given)
        with wb.autocast("cpu"):
            cast = model(*given).float()
        assert found.dtype == wb.float32 and found.shape == exact.shape
        # A bound of its own, and that of the same layers in the same type, one after the other.
        assert off(found, exact) <= 8 * ROUNDING
        assert off(found, exact) <= 2 * off(cast, exact) + ROUNDING
        assert np.array_equal(compiled(*given).numpy(), found.numpy())
        # It does round: else nothing was narrow.
        assert off(found, exact) > 1e-5
    report = wb.compiler.explain(compiled)
    (program,) = report.programs
    assert report.calls == {"compiled": 2} and report.precision == "bfloat16"
    layers = [one for one in program.steps if one.startswith(("convolution", "linear", "product "))]
    assert layers and all(is_of_bfloat16(one) for one in layers)
    assert "computes in bfloat16" in str(report) and "bfloat16 in " in str(report)


@narrow
def test_every_layer_of_a_network_is_narrow() -> None:
    model = wb.models.resnet18().eval()
    compiled = wb.compile(model, precision=wb.bfloat16)
    with wb.no_grad():
        compiled(wb.randn(1, 3, 64, 64))
    (program,) = wb.compiler.explain(compiled).programs
    assert not program.eager and program.gives["float32"] == 2  # the image turned, and the result
    layers = {
        name: count for name, count in program.steps.items() if name.startswith(("convolution", "linear"))
    }
    assert sum(layers.values()) == 21 and all(is_of_bfloat16(name) for name in layers)


@narrow
def test_one_graph_serves_all_sizes_and_eight_threads() -> None:
    wb.manual_seed(0)
    model = Mixed().eval()
    compiled = wb.compile(model, precision="bfloat16")
    given = [wb.randn(1 + i % 3, 3, 12 + i % 2, 12) for i in range(8)]
    with wb.no_grad():
        expected = [compiled(x).numpy() for x in given]
        for x, one in zip(given, expected, strict=True):
            assert np.abs(one - model(x).numpy()).max() <= 8 * ROUNDING
    assert len(compiled._compiled.versions) == 1
    found: list[list[Any]] = [[] for _ in given]

    def work(number: int) -> None:
        with wb.no_grad():
            found[number] = [compiled(given[number]).numpy() for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for results, wanted in zip(found, expected, strict=True):
        assert len(results) == 20 and all(np.array_equal(one, wanted) for one in results)


def test_steps_of_gradients_say_the_type_of_what_they_give() -> None:
    compiled = wb.compile(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)))
    compiled(wb.randn(2, 3, 8, 8)).sum().backward()
    for program in wb.compiler.explain(compiled).programs:
        assert set(program.gives) <= {"float32", "int32", "int64"}


@narrow
def test_what_is_not_finite_runs_as_it_is_written() -> None:
    compiled = wb.compile(nn.Sequential(nn.Conv2d(2, 4, 1), nn.ReLU()).eval(), precision="bfloat16")
    x = wb.ones(1, 2, 3, 3)
    x[0, 0, 0, 0] = float("nan")
    with wb.no_grad():
        assert bool(compiled(x).isnan().any())
    (reason,) = wb.compiler.explain(compiled).calls
    assert reason == "a value is not finite, or so large that sums of it may not be"


@narrow
def test_gradients_are_computed_in_float32() -> None:
    wb.manual_seed(0)
    layer = nn.Linear(8, 3)
    x = wb.randn(4, 8)
    compiled = wb.compile(layer, precision="bfloat16")
    found = compiled(x)
    assert off(found.detach(), layer(x).detach()) < 1e-6
    found.sum().backward()
    report = wb.compiler.explain(compiled)
    assert [set(one.gives) for one in report.programs] == [{"float32"}, {"float32"}]
    assert "computes in bfloat16; what records gradients in the types of its parameters" in str(report)
    with wb.no_grad():
        assert off(compiled(x), layer(x)) > 1e-5


@narrow
def test_precision_stays_with_copies_and_is_told_apart() -> None:
    model = nn.Linear(8, 3).eval()
    compiled = wb.compile(model, precision="bfloat16")
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert other._compiled.precision == "bfloat16"
    assert wb.compile(compiled, precision="bfloat16") is compiled
    exact = wb.compile(compiled)
    assert exact._compiled.precision == "float32" and exact._orig_mod is model
    decorated = wb.compile(precision="bfloat16")(lambda x: x @ x)
    assert wb.compile(decorated).compiled.precision == "float32"
    x = wb.rand(5, 5)
    assert 0 < off(decorated(x), x @ x) <= 2 * ROUNDING


def test_a_precision_that_is_not_there_is_refused_in_words() -> None:
    with pytest.raises(
        ValueError, match=r"precision='float16' is not known; there are 'float32', 'bfloat16'"
    ):
        wb.compile(nn.Linear(2, 2), precision="float16")
    with pytest.raises(ValueError, match=r"precision=workbench\.float64 is not known"):
        wb.compile(nn.Linear(2, 2), precision=wb.float64)


WITHOUT = """
import warnings, workbench as wb
model = wb.nn.Linear(8, 3).eval()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    compiled = wb.compile(model, precision="bfloat16")
x = wb.randn(4, 8)
with wb.no_grad():
    assert float((compiled(x) - model(x)).abs().max()) < 1e-6
    wide = wb.compile(model.bfloat16())(x.bfloat16())
assert wide.dtype == wb.bfloat16
print(told[0].message, told[0].filename == __file__, wb.compiler.explain(compiled).precision, sep="|")
"""


def test_processors_without_bfloat16_compute_in_float32_and_say_so(tmp_path: Any) -> None:
    script = tmp_path / "without.py"
    script.write_text(WITHOUT)
    environment = {**os.environ, "WORKBENCH_KERNELS_ISA": "avx2"}
    told = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()
    warning, at_the_call, precision = told.split("|")
    assert "neither AVX512-BF16 nor AMX" in warning and warning.endswith("Computing in float32.")
    assert at_the_call == "True"
    assert precision.startswith("float32, not in bfloat16: this processor multiplies no bfloat16 by itself")


@narrow
@pytest.mark.parametrize("name", ["mixed", "resnet18", "mobilenet_v2"])
def test_models_in_bfloat16_compile_wholly(name: str) -> None:
    wb.manual_seed(0)
    model, (x,) = networks()[name]()
    model, x = model.eval().bfloat16(), x.bfloat16()
    compiled = wb.compile(model, fullgraph=True)
    with wb.no_grad():
        found, expected = compiled(x), model(x)
    assert found.dtype == wb.bfloat16
    assert off(found.float(), expected.float()) <= 4 * ROUNDING
    report = wb.compiler.explain(compiled)
    assert report.calls == {"compiled": 1} and not report.programs[0].eager


@narrow
def test_joining_several_types_gives_the_wider_one() -> None:
    layer = nn.Linear(4, 4).bfloat16()
    compiled = wb.compile(lambda x: wb.cat([layer(x), x.float()], 1), fullgraph=True)
    x = wb.randn(3, 4).bfloat16()
    with wb.no_grad():
        found, expected = compiled(x), wb.cat([layer(x), x.float()], 1)
    assert found.dtype == expected.dtype == wb.float32
    assert off(found, expected) <= ROUNDING


@narrow
def test_steps_refuse_weights_of_another_type() -> None:
    program = native.compiled.Program(native.compiled.Store())
    x = program.input([2, 3], "float32", False)
    weight = wb.ones(4, 3, dtype=wb.bfloat16).numpy()
    with pytest.raises(ValueError, match="a layer of bfloat16 is given float32"):
        program.linear(x, 0, weight, -1, None, [])
    with pytest.raises(ValueError, match="a weight lies row by row"):
        program.linear(x, 0, np.ones((3, 4), np.float32).T, -1, None, [])


# ------------------------------------------------------------------------------------------- every op of the table


def _after_a_product(program: Program, count: int) -> Callable[..., Any]:
    """A program whose inputs are results of products, and so narrow: each by ones on a diagonal, which only rounds."""

    def call(*given: Any) -> Any:
        tensors = [_times_one(one) for one in given[:count]]
        return program.function(*([tensors] if program.listed else tensors), *given[count:])

    return call


def _times_one(value: Any) -> Any:
    if not isinstance(value, Value) or value.dtype != wb.float32 or not value.ndim or not value.numel():
        return value
    plain = value.rename(None)
    product = (plain if value.ndim > 1 else plain.unsqueeze(0)) @ wb.eye(value.shape[-1])
    product = product if value.ndim > 1 else product.squeeze(0)
    return product.rename(*value.names) if any(value.names) else product


def _rounded(array: Any) -> Any:
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        return array
    return wb.tensor(array).bfloat16().float().numpy()


@narrow
@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_op_behind_a_product_rounds_and_no_more(op: Op) -> None:
    if "random" in op.properties or "unsettled" in op.properties:
        return  # its numbers are not those of another run
    for program in islice(programs(op), 4):
        inputs = [_rounded(one) for one in program.sample.inputs]
        if any(isinstance(one, QuantizedArray | SparseArray) for one in inputs):
            continue  # what has no array of its values runs as it is written
        tensors = [wb.tensor(one) if isinstance(one, np.ndarray) else one for one in inputs]
        settings = list(program.settings.values())
        given = [*([tensors] if program.listed else tensors), *settings]
        try:
            expected = several(program.function(*given))
        except (DTypeError, ValueError):
            continue  # not every width is every op's
        compiled = wb.compile(_after_a_product(program, len(tensors)), precision="bfloat16")
        with wb.no_grad():
            found = several(compiled(*tensors, *settings))
        for one, wanted in zip(found, expected, strict=True):
            if not isinstance(wanted, Value):
                assert one == wanted
                continue
            if isinstance(wanted.payload, QuantizedArray | SparseArray):
                continue
            assert (one.dtype, one.shape, one.names) == (wanted.dtype, wanted.shape, wanted.names)
            numbers, exact = (each.numpy().astype(np.complex128) for each in (one, wanted))
            largest = np.abs(exact[np.isfinite(exact)]).max(initial=0.0)
            np.testing.assert_allclose(numbers, exact, rtol=2 * ROUNDING, atol=2 * ROUNDING * largest)
