"""What XLA computes against what the CPU does: run by `test_xla` in a process of its own."""

from __future__ import annotations

import copy
from itertools import islice
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.ops.modes import Mode, check_mode, traced
from workbench.base.quantized_array import QuantizedArray
from workbench.base.sparse_array import SparseArray
from workbench.core import backend as registry
from workbench.core.dispatch import cast
from workbench.core.op import Op, table
from workbench.graph import GraphError, parse
from workbench.interop import xla
from workbench.interop.xla import XlaProgram
from workbench.interop.xla.arrays import XlaArray, bare, wide_types

jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True, scope="module")
def _device() -> None:
    if not registry.is_available("xla"):
        wb.register_backend(xla.backend())


def plain(op: Op) -> Any:
    """Yield the samples whose inputs are arrays and numbers, of the types that the op computes in."""
    for sample in op.samples():
        arrays = [np.asarray(one) if isinstance(one, np.ndarray | list) else one for one in sample.inputs]
        if all(isinstance(one, np.ndarray | int | float | complex | np.generic | None) for one in arrays):
            yield cast(op, arrays)[0], sample.params


@pytest.mark.parametrize(
    "op", [op for op in table() if "crossing" not in op.properties], ids=lambda op: op.name
)
def test_an_op_computes_there_what_it_computes_here(op: Op) -> None:
    """Compiled on stand-ins, as a graph is lowered: nothing can ask for numbers."""
    kernel = xla.KERNELS.get(op.name, op.forward)
    ran = 0
    # XLA compiles every one of them: two where NumPy's code is traced, all where somebody wrote the op anew.
    for arrays, params in islice(plain(op), None if op.name in xla.KERNELS else 2):

        def traced(given: list[Any], arrays: Any = arrays, params: Any = params) -> Any:
            following = iter(given)
            stood = [XlaArray(next(following)) if isinstance(one, np.ndarray) else one for one in arrays]
            return bare(kernel(*stood, **params))

        given = [one for one in arrays if isinstance(one, np.ndarray)]
        try:
            with wide_types():
                found = jax.jit(traced)(given)
        except (TypeError, AttributeError, jax.errors.ConcretizationTypeError, IndexError):
            assert op.name in xla.ABSENT
            return
        wanted = op.forward(*arrays, **params)
        for one, other in zip(
            *[each if isinstance(each, tuple) else (each,) for each in (found, wanted)], strict=True
        ):
            assert (one.shape, one.dtype) == (np.shape(other), np.asarray(other).dtype)
            if "unsettled" not in op.properties:
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
        ran += 1
    assert bool(ran) != (op.name in xla.ABSENT), "what is computed is not absent, and the other way round"


XLA = Mode(
    lambda program: traced(program, XlaProgram),
    (np.float64, np.float32),
    gradients=False,
    of_largest=True,
    settled=True,
)


@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_sample_of_an_op_gives_there_what_it_gives_here(op: Op) -> None:
    inputs = [one for sample in islice(op.samples(), 2) for one in sample.inputs]
    other = any(isinstance(one, QuantizedArray | SparseArray) for one in inputs)
    if op.name in xla.ABSENT or other:
        why = "plain tensors of the CPU" if other else "which XLA does not compute"
        with pytest.raises(GraphError, match=why):
            check_mode(op, XLA, most=2)
        return
    # Two of each: XLA compiles every one of them.
    check_mode(op, XLA, most=2)


def test_models_are_computed_at_sizes_that_no_trace_saw() -> None:
    wb.manual_seed(0)
    model = wb.models.resnet18().eval()
    program = XlaProgram(wb.graph.trace(model, wb.randn(2, 3, 64, 64)))
    for count in (2, 3):
        x = wb.randn(count, 3, 64, 64)
        assert (program(x) - model(x)).abs().max() < 1e-5
    assert "stablehlo.convolution" in program.text(wb.randn(2, 3, 64, 64))


def test_training_draws_and_moves_statistics_as_eager_does() -> None:
    wb.manual_seed(0)
    layers = [
        wb.nn.Conv2d(3, 8, 3),
        wb.nn.BatchNorm2d(8),
        wb.nn.Dropout(0.5),
        wb.nn.Flatten(),
        wb.nn.Linear(288, 4),
    ]
    model = wb.nn.Sequential(*layers)
    other = copy.deepcopy(model)
    x = wb.randn(N=5, C=3, H=8, W=8)
    program = XlaProgram(wb.graph.trace(model, x))
    wb.manual_seed(3)
    found = program(x)
    wb.manual_seed(3)
    wanted = other(x)
    assert found.names == wanted.names
    assert (found - wanted).abs().max() < 1e-5
    assert (model[1].running_var - other[1].running_var).abs().max() < 1e-5
    assert int(model[1].num_batches_tracked) == 1


def test_gradients_are_a_program_too() -> None:
    wb.manual_seed(0)

    class Loss(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = wb.nn.Sequential(
                wb.nn.Conv2d(3, 8, 3, padding=1, stride=2), wb.nn.GroupNorm(2, 8), wb.nn.GELU(), wb.nn.MaxPool2d(2),
                wb.nn.Flatten(), wb.nn.Linear(32, 4),
            )  # fmt: skip

        def forward(self, x: Any, target: Any) -> Any:
            return wb.nn.functional.cross_entropy(self.layers(x), target)

    loss = Loss()
    x, target = wb.randn(5, 3, 8, 8), wb.tensor([0, 1, 2, 3, 0])
    graph = wb.graph.passes.differentiate(wb.graph.trace(loss, x, target))
    found, gradients = XlaProgram(graph)(x, target)
    wanted = loss(x, target)
    wanted.backward()
    assert abs(float(found) - float(wanted)) < 1e-6
    for name, parameter in loss.named_parameters():
        assert (gradients[name] - parameter.grad).abs().max() < 1e-6


def test_a_change_of_parameters_is_seen() -> None:
    layer = wb.nn.Linear(2, 2)
    program = XlaProgram(wb.graph.trace(layer, wb.ones(1, 2)))
    before = program(wb.ones(1, 2))
    with wb.no_grad():
        layer.bias.add_(1.0)
    assert (program(wb.ones(1, 2)) - before).tolist() == [[1.0, 1.0]]


BRANCH = """g(%x : f32[N:3]):
  %s : f32[] = sum(%x, dim=(0,), keepdim=False)
  %c : bool = builtins.bool(%s)
  %y : f32[N:3] = if(%c):
    then():
      %a : f32[N:3] = mul(%x, 2.0)
      return %a
    else():
      %b : f32[N:3] = neg(%x)
      return %b
  return %y
"""
LOOP = """g(%x : f32[], %n : int):
  %y : f32[] = loop(%n, True, %x):
    body(%i : int, %z : f32[]):
      %w : f32[] = mul(%z, 2.0)
      %b : bool_[] = lt(%w, 20.0)
      %c : bool = builtins.bool(%b)
      return %c, %w
  return %y
"""


def test_what_numbers_decide_becomes_control_flow_of_xla() -> None:
    graph = parse(BRANCH)
    program = XlaProgram(graph)
    for values in ([1.0, 2.0, 3.0], [0.0, 1.0, -1.0]):
        x = wb.tensor(values, names=("N",))
        assert program(x).tolist() == graph(x).tolist()
    assert "stablehlo.case" in program.text(wb.ones(N=3))
    graph = parse(LOOP.replace("bool_[]", "bool[]"))
    program = XlaProgram(graph)
    for start, most in ((1.0, 3), (1.0, 100), (100.0, 5)):
        assert float(program(wb.tensor(start), most)) == float(graph(wb.tensor(start), most))
    assert "stablehlo.while" in program.text(wb.tensor(1.0), 3)


def test_turns_whose_number_is_known_are_written_out() -> None:
    graph = parse(LOOP.replace("bool_[]", "bool[]").replace("return %c, %w", "return True, %w"))
    program = XlaProgram(graph)
    for most in (0, 1, 3):
        assert float(program(wb.tensor(1.0), most)) == float(graph(wb.tensor(1.0), most)) == 2.0**most
    assert "stablehlo.while" not in program.text(wb.tensor(1.0), 3)


def test_values_keep_their_names_through_control_flow() -> None:
    graph = parse(
        BRANCH.replace("return %y", "%z : f32[] = sum(%y, dim=(0,), keepdim=False)\n  return (%y, %z)")
    )
    found, total = XlaProgram(graph)(wb.tensor([1.0, 2.0, 3.0], names=("N",)))
    assert found.names == ("N",) and float(total) == 12.0


def test_what_a_function_writes_into_its_inputs_is_written() -> None:
    graph = wb.graph.trace(lambda x, y: (x.add_(y), x * 2)[1], wb.ones(3), wb.ones(3))
    program = XlaProgram(graph)
    given, other = wb.tensor([1.0, 2.0, 3.0]), wb.ones(3)
    assert program(given, other).tolist() == [4.0, 6.0, 8.0]
    assert given.tolist() == [2.0, 3.0, 4.0] and other.tolist() == [1.0] * 3


def test_bad_inputs_are_refused_as_by_a_run() -> None:
    program = XlaProgram(wb.graph.trace(lambda x: x * 2, wb.ones(N=3)))
    with pytest.raises(wb.DimensionError, match="1 inputs"):
        program()
    with pytest.raises(wb.DTypeError, match="is a tensor"):
        program(1.0)
    with pytest.raises(wb.DimensionError, match="traced with dims"):
        program(wb.ones(C=3))
    program = XlaProgram(wb.graph.trace(lambda x: x.mode(0)[0], wb.ones(4, 3)))
    with pytest.raises(GraphError, match="mode"):
        program(wb.ones(4, 3))


def test_tensors_go_to_the_device_and_back() -> None:
    x = wb.randn(N=4, C=3)
    there = x.to("xla")
    assert (str(there.device), there.names) == ("xla", ("N", "C"))
    assert ((there * 2).exp().sum("C").cpu() - (x * 2).exp().sum("C")).abs().max() < 1e-4


@pytest.mark.parametrize(
    "dtype", [wb.float64, wb.int64, wb.complex128, wb.int8, wb.bool, wb.float16], ids=str
)
def test_types_and_numbers_are_kept_on_the_way(dtype: Any) -> None:
    x = wb.tensor([[1, 0], [2**40 + 1 if dtype in (wb.int64, wb.float64) else 1, 1]], dtype=dtype)
    there = x.to("xla")
    assert there.dtype == dtype == there.cpu().dtype and there.cpu().tolist() == x.tolist()
    assert (there[1] * there[1]).cpu().tolist() == (x[1] * x[1]).tolist()


def test_compile_takes_it_by_its_name() -> None:
    wb.manual_seed(0)
    model = wb.models.resnet18().eval()
    compiled = wb.compile(model, backend="xla")
    with wb.no_grad():
        for size in (64, 64, 96):
            x = wb.randn(2, 3, size, size)
            assert (compiled(x) - model(x)).abs().max() < 1e-5
    report = wb.compiler.explain(compiled)
    assert report.calls == {"compiled": 3}
    assert [one.steps for one in report.programs] == [{"program of xla": 1}] * 2
    assert type(copy.deepcopy(compiled)._compiled.backend) is wb.Backend
