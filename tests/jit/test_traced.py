"""Traced modules and functions: results, sizes, state, what is warned of and refused; saved and loaded."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import models
from workbench.jit import ScriptFunction, ScriptModule, TracerWarning, TracingCheckError


def bits(tensor: Any) -> bytes:
    return tensor.detach().numpy().tobytes()  # type: ignore[no-any-return]


class Net(wb.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = wb.nn.Sequential(wb.nn.Conv2d(1, 4, 3), wb.nn.BatchNorm2d(4), wb.nn.ReLU())
        self.head = wb.nn.Linear(4, 2)
        self.register_buffer("unread", wb.ones(3))
        self.register_buffer("fleeting", wb.ones(2), persistent=False)

    def forward(self, x: Any, scale: Any = None) -> Any:
        y = self.head(self.features(x).mean((2, 3)))
        return (y if scale is None else y * scale) + self.fleeting


def test_a_traced_module_is_a_module_with_the_same_state() -> None:
    net = Net()
    x = wb.rand(5, 1, 8, 8)
    traced = wb.jit.trace(net.eval(), x)
    assert isinstance(traced, ScriptModule) and traced.original_name == "Net"
    assert list(traced.state_dict()) == list(net.state_dict())
    assert all(one is other for one, other in zip(traced.parameters(), net.parameters(), strict=True))
    assert [name for name, _ in traced.named_modules()] == [name for name, _ in net.named_modules()]
    other = wb.rand(3, 1, 12, 9)
    assert bits(traced(other)) == bits(net(other))
    # Trained through the one, seen by the other.
    traced(x).sum().backward()
    assert net.head.weight.grad is not None
    assert "conv2d" in str(traced.graph) and "def Net(parameters, constants, x" in traced.code
    with pytest.raises(RuntimeError, match=r"this Sequential is part of a module that was traced as a whole"):
        traced.features(x)


def test_a_parameter_that_is_replaced_is_used() -> None:
    net = Net().eval()
    x = wb.rand(2, 1, 8, 8)
    traced = wb.jit.trace(net, x)
    traced.head.bias = wb.nn.Parameter(wb.tensor([10.0, 20.0]))
    net.head.bias = traced.head.bias
    assert bits(traced(x)) == bits(net(x))


def test_statistics_are_kept_as_the_module_would() -> None:
    net, x = Net(), wb.rand(6, 1, 8, 8)
    twin = copy.deepcopy(net)
    traced = wb.jit.trace(net, x)
    assert bits(net.features[1].running_mean) == bits(twin.features[1].running_mean)
    assert bits(traced(x)) == bits(twin(x))
    for one, other in zip(traced.buffers(), twin.buffers(), strict=True):
        assert bits(one) == bits(other)


def test_dropout_draws_as_the_module_would() -> None:
    net = wb.nn.Sequential(wb.nn.Linear(4, 4), wb.nn.Dropout(0.5))
    traced = wb.jit.trace(net, wb.rand(3, 4))
    wb.manual_seed(3)
    one = traced(wb.ones(3, 4))
    wb.manual_seed(3)
    assert bits(one) == bits(net(wb.ones(3, 4)))


def test_a_function_is_a_function() -> None:
    def scaled(x: Any, pair: Any) -> Any:
        return {"sum": (x * pair[0]).sum(), "rest": [pair[1], x.flatten()]}

    traced = wb.jit.trace(scaled, (wb.ones(2, 3), (wb.ones(3), wb.ones(1))))
    assert (
        isinstance(traced, ScriptFunction)
        and traced.name == "scaled"
        and "ScriptFunction scaled" in repr(traced)
    )
    found = traced(pair=(wb.ones(2), wb.ones(1)), x=wb.ones(5, 2))
    assert found["sum"].item() == 10 and found["rest"][1].shape == (10,)
    assert wb.jit.trace(traced, wb.ones(1)) is traced
    by_name = wb.jit.trace(
        scaled, example_kwarg_inputs={"pair": (wb.ones(3), wb.ones(1)), "x": wb.ones(2, 3)}
    )
    assert by_name(wb.ones(1, 1), (wb.ones(1), wb.ones(1)))["sum"].item() == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one(), r"forward\(\) takes 1 arguments, as it was traced \(x\), got 0; missing is x"),
        (
            lambda one: one(wb.ones(2), wb.ones(2)),
            r"forward\(\) takes 1 arguments, as it was traced \(x\), got 2",
        ),
        (lambda one: one(y=wb.ones(2)), r"forward\(\) got an unexpected or second argument 'y'; it takes x"),
        (lambda one: one(wb.ones(2), x=wb.ones(2)), "unexpected or second argument 'x'"),
    ],
)
def test_wrong_calls_are_refused(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(wb.jit.trace(lambda x: x * 2, wb.ones(2)))


def test_any_number_of_inputs_have_names_of_their_own() -> None:
    traced = wb.jit.trace(lambda *parts: parts[0] - parts[1], (wb.ones(2), wb.ones(2)))
    assert traced(wb.ones(3), wb.zeros(3)).tolist() == [1, 1, 1]
    assert traced(x_1=wb.ones(3), x=wb.zeros(3)).tolist() == [-1, -1, -1]


def test_methods_have_graphs_of_their_own() -> None:
    class Both(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = wb.nn.Linear(2, 3, bias=False)

        def forward(self, x: Any) -> Any:
            return self.layer(x)

        def back(self, y: Any) -> Any:
            return y @ self.layer.weight

    net = Both()
    traced = wb.jit.trace_module(
        net, {"forward": wb.ones(1, 2), "back": wb.ones(1, 3)}, check_inputs=[{"back": wb.rand(4, 3)}]
    )
    y = traced(wb.rand(5, 2))
    assert bits(traced.back(y)) == bits(net.back(y))
    with pytest.raises(AttributeError, match="forth"):
        traced.forth(y)
    file = io.BytesIO()
    traced.save(file)
    file.seek(0)
    again = wb.jit.load(file)
    assert bits(again.back(y)) == bits(net.back(y)) and bits(again(y @ wb.ones(3, 2))) == bits(
        net(y @ wb.ones(3, 2))
    )


# ---------------------------------------------------------------------------------------- told and checked


def test_a_size_that_is_needed_as_a_number_is_warned_of() -> None:
    def rows(x: Any) -> Any:
        return sum(x[i] for i in range(x.shape[0]))

    line = rows.__code__.co_firstlineno + 1
    told = rf"test_traced\.py:{line} needs x\.shape\[0\] as a number: .* where it is 3"
    with pytest.warns(TracerWarning, match=told):
        traced = wb.jit.trace(rows, wb.ones(3, 2))
    with pytest.raises(wb.DimensionError, match="decided something by it"):
        traced(wb.ones(4, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wb.jit.trace(lambda x: x.reshape(x.shape[0], -1).sum(1), wb.ones(3, 2, 2))


def test_a_branch_by_numbers_names_its_line() -> None:
    def branch(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    with pytest.raises(wb.NoNumbersError, match=rf"test_traced\.py:{branch.__code__.co_firstlineno + 1}"):
        wb.jit.trace(branch, wb.ones(2))


def test_a_trace_that_would_lie_is_found() -> None:
    calls = []

    def counting(x: Any) -> Any:
        calls.append(1)
        return x * len(calls)

    with pytest.raises(
        TracingCheckError, match="counting gives something else for the example: result differs by"
    ):
        wb.jit.trace(counting, wb.ones(2))
    assert wb.jit.trace(counting, wb.ones(2), check_trace=False)(wb.ones(1)).item() == 3

    def by_size(x: Any) -> Any:
        return x if x.shape[0] > 2 else (x, x)

    with pytest.raises(
        TracingCheckError, match=r"by_size refuses check_inputs\[1\]: .*decided something by it"
    ):
        wb.jit.trace(by_size, wb.ones(3), check_inputs=[wb.ones(4), (wb.ones(2),)])


def test_a_check_leaves_everything_as_it_was() -> None:
    net = wb.nn.Sequential(wb.nn.BatchNorm1d(3), wb.nn.Dropout(0.5))
    state, random = {k: bits(v) for k, v in net.state_dict().items()}, wb.get_rng_state()
    wb.jit.trace(net, wb.ones(4, 3), check_inputs=[wb.ones(5, 3)])
    assert {k: bits(v) for k, v in net.state_dict().items()} == state
    assert wb.get_rng_state() == random


def test_a_program_may_ask_whether_it_is_traced() -> None:
    seen = []

    def asking(x: Any) -> Any:
        seen.append(wb.jit.is_tracing())
        return x * 2

    wb.jit.trace(asking, wb.ones(2), check_trace=False)
    asking(wb.ones(2))
    assert seen == [True, False]


def test_python_is_asked_for_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_JIT", "0")
    net = Net()
    assert wb.jit.trace(net, wb.ones(1)) is net and wb.jit.trace_module(net, {}) is net


def test_what_is_forked_is_waited_for() -> None:
    def failing() -> None:
        raise ValueError("later")

    assert wb.jit.wait(wb.jit.fork(max, 3, 4)) == 4
    future = wb.jit.fork(failing)
    assert future.done()
    with pytest.raises(ValueError, match="later"):
        future.wait()


# --------------------------------------------------------------------------------------- frozen and saved


def test_a_frozen_module_has_its_parameters_in_its_graph() -> None:
    net, x = Net(), wb.rand(4, 1, 8, 8)
    net(x)
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        wb.jit.freeze(wb.jit.trace(net, x))
    with pytest.raises(RuntimeError, match="expects a ScriptModule as input, got Net"):
        wb.jit.freeze(net)
    traced = wb.jit.trace(net.eval(), x)
    frozen, exact = wb.jit.freeze(traced), wb.jit.freeze(traced, ["head"], optimize_numerics=False)
    assert not list(frozen.parameters()) and "batch_norm" not in str(frozen.graph)
    assert "batch_norm" in str(exact.graph) and exact.head is traced.head
    np.testing.assert_allclose(frozen(x).detach(), net(x).detach(), atol=1e-5)
    assert bits(exact(x)) == bits(net(x))
    assert "batch_norm" not in str(wb.jit.optimize_for_inference(traced).graph)


@pytest.mark.parametrize("training", [False, True])
def test_a_module_is_saved_and_loaded(training: bool, tmp_path: Path) -> None:
    net, x = Net().train(training), wb.rand(4, 1, 8, 8)
    traced = wb.jit.trace(net, (x, wb.tensor(2.0)))
    path = tmp_path / "net.wb"
    wb.jit.save(traced, path, {"labels.txt": "zero\none", "note": b"\xc3\xa9"})
    extra: dict[str, Any] = {"labels.txt": "", "note": ""}
    again = wb.jit.load(path, _extra_files=extra)
    assert extra == {"labels.txt": b"zero\none", "note": "é".encode()}
    assert isinstance(again, ScriptModule) and again.original_name == "Net" and again.training == training
    for name, tensor in net.state_dict().items():
        assert bits(again.state_dict()[name]) == bits(tensor)
    assert {n for n, _ in again.named_parameters()} == {n for n, _ in net.named_parameters()}
    y = wb.rand(2, 1, 9, 9)
    assert bits(again(y, scale=wb.tensor(2.0))) == bits(net(y, wb.tensor(2.0)))
    if training:
        assert bits(again.features._modules["1"].running_mean) == bits(net.features[1].running_mean)
    again(y, wb.tensor(1.0)).sum().backward()
    assert again.head.weight.grad is not None
    with pytest.raises(wb.WeightsError, match="the archive has no extra file 'other'"):
        wb.jit.load(path, _extra_files={"other": ""})
    # The graph alone is there for whoever asks for that.
    assert isinstance(wb.load(path), wb.graph.Graph)


def test_a_function_is_saved_and_loaded() -> None:
    file = io.BytesIO()
    wb.jit.trace(lambda x: x * 2, wb.ones(2)).save(file)
    file.seek(0)
    again = wb.jit.load(file)
    assert isinstance(again, ScriptFunction) and again(x=wb.ones(3)).tolist() == [2, 2, 2]


def test_what_is_no_archive_of_a_module_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.pt"
    wb.save({"x": wb.ones(1)}, path)
    with pytest.raises(wb.WeightsError, match=r"state\.pt: it is no archive of a graph"):
        wb.jit.load(path)
    with pytest.raises(
        TypeError, match=r"jit\.save writes what jit\.trace and jit\.script give, and got Linear"
    ):
        wb.jit.save(wb.nn.Linear(1, 1), path)
    with pytest.raises(wb.WeightsError, match="the extra file 'x' is no text"):
        wb.jit.save(wb.jit.trace(lambda x: x, wb.ones(1)), path, {"x": b"\xff"})
    assert wb.load(path)["x"].item() == 1


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "efficientnet_lite0"])
def test_models_of_papers(name: str) -> None:
    model = getattr(models, name)().eval()
    x = wb.rand(1, 3, 64, 64)
    traced = wb.jit.trace(model, x)
    assert bits(traced(x)) == bits(model(x))


def test_functions_are_found_by_name_whatever_was_traced_first() -> None:
    """While fx traces, `math` has other functions in their places, which the table of names once kept."""
    program = (
        "import math, sys\n"
        "import workbench as wb\n"
        "from workbench.graph import named\n"
        "wb.fx.symbolic_trace(lambda x: x * math.sin(2.0))\n"
        "assert named('math.sin').call is math.sin\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
