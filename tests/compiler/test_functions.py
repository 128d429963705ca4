"""Compiled functions: what they are given, what they close over, and what is no graph."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import workbench as wb
from workbench import kernels, nn
from workbench.base.errors import UnavailableError
from workbench.core import backend as registry
from workbench.graph import GraphError

pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")


def calls(compiled: Any) -> dict[str, int]:
    return wb.compiler.explain(compiled).calls


def test_names_of_dims_are_kept() -> None:
    compiled = wb.compile(lambda x: x.relu().permute("C", "N"))
    assert compiled(wb.ones(N=2, C=3)).names == ("C", "N")
    assert compiled(wb.ones(N=5, C=3)).names == ("C", "N")
    with pytest.raises(wb.DimensionError):
        compiled(wb.ones(A=5, C=3))
    assert compiled(wb.ones(C=2, N=3)).names == ("C", "N")


class Scaled:
    scale = 3.0


SCALED = Scaled()
scale = wb.ones(3)
"""Called as an attribute is that the function below asks for, and nothing to it."""


def test_a_global_that_is_called_as_an_attribute_is_nothing_to_the_function() -> None:
    compiled = wb.compile(lambda x: x.relu() * SCALED.scale)
    for _ in range(3):
        assert compiled(wb.ones(2)).tolist() == [3.0, 3.0]
        scale.add_(1.0)
    report = wb.compiler.explain(compiled)
    assert report.calls == {"compiled": 3} and not report.made_anew


def test_a_guard_that_fails_makes_another_graph() -> None:
    def f(x: Any) -> Any:
        return x.relu() if x.shape[0] > 2 else x.sigmoid()

    compiled = wb.compile(f)
    for count in (4, 1, 5, 2):
        x = wb.linspace(-1, 1, count)
        assert np.allclose(compiled(x).numpy(), f(x).numpy(), atol=1e-6)
    assert calls(compiled) == {"compiled": 4}


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.ones((6, 8), np.float32)[::2, ::-1], id="backwards"),
        pytest.param(np.broadcast_to(np.float32(2), (3, 8)), id="stretched"),
        pytest.param(np.arange(24, dtype=np.float32).reshape(8, 3).T, id="turned"),
        pytest.param(np.ones((0, 8), np.float32), id="empty"),
        pytest.param(np.ones((3, 8), np.float64), id="doubles"),
        pytest.param(np.ones((3, 8), np.int64), id="integers"),
        pytest.param(
            np.array([[np.nan, np.inf, -np.inf, 0, 1, -0.0, 1e-40, 3e38]], np.float32), id="special"
        ),
    ],
)
def test_inputs_of_every_kind(array: Any) -> None:
    def f(x: Any) -> Any:
        return (x + 1).relu() * 2

    compiled = wb.compile(f)
    x = wb.from_numpy(array)
    for _ in range(2):
        found, expected = compiled(x), f(x)
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert np.array_equal(found.numpy(), expected.numpy(), equal_nan=True)


def test_a_rectifier_hides_no_nan() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.ReLU()).eval()
    compiled = wb.compile(model)
    x = wb.full((1, 1, 2, 2), float("nan"))
    with wb.no_grad():
        assert compiled(x).isnan().all()
        assert compiled(wb.ones(1, 1, 2, 2)).isfinite().all()
    assert calls(compiled) == {
        "a value is not finite, or so large that sums of it may not be": 1,
        "compiled": 1,
    }


def test_wrong_inputs_are_refused_as_eager_refuses_them() -> None:
    model = nn.Linear(4, 2).eval()
    compiled = wb.compile(model)
    with wb.no_grad():
        compiled(wb.ones(3, 4))
        for wrong in (wb.ones(3, 5), wb.ones(3, 4, dtype=wb.float64), "text"):
            with pytest.raises((ValueError, TypeError, RuntimeError, AttributeError)) as found:
                compiled(wrong)
            with pytest.raises(type(found.value)) as expected:
                model(wrong)
            # The first line: the picture calls an operand what the caller calls it.
            assert str(found.value).split("\n")[0] == str(expected.value).split("\n")[0]


def test_what_a_function_closes_over_is_watched() -> None:
    weight = wb.ones(3)

    def f(x: Any) -> Any:
        return x * weight

    compiled = wb.compile(f)
    x = wb.ones(2, 3)
    assert compiled(x).sum().item() == 6
    weight.mul_(2)
    assert compiled(x).sum().item() == 12
    weight = wb.full((3,), 5.0)
    assert compiled(x).sum().item() == 30
    assert calls(compiled) == {"compiled": 3}


def test_results_that_show_an_input_show_it() -> None:
    compiled = wb.compile(lambda x: x.reshape(2, 2))
    x = wb.zeros(4)
    compiled(x)[0, 0] = 1
    assert x.tolist() == [1, 0, 0, 0]
    assert wb.compile(lambda x: x)(x) is x


def test_ops_without_a_step_are_run_and_named() -> None:
    def f(x: Any) -> Any:
        return (x.relu().cumsum(1) * 2).tanh(), x.exp()

    compiled = wb.compile(f)
    x = wb.randn(3, 4)
    for found, expected in zip(compiled(x), f(x), strict=True):
        assert np.allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    (program,) = wb.compiler.explain(compiled).programs
    assert program.eager == {"cumsum": "cumsum has no step"}
    assert "by its own kernel: cumsum, since cumsum has no step" in str(program)


def test_what_has_no_graph_runs_as_written_or_is_refused() -> None:
    def f(x: Any) -> Any:
        return x.relu() if x.sum() > 0 else x

    x = wb.ones(2)
    compiled = wb.compile(f)
    assert compiled(x).tolist() == [1, 1]
    (reason,) = calls(compiled)
    assert reason.startswith("it has no graph: ") and "test_functions.py" in reason
    with pytest.raises(wb.NoNumbersError, match=r"test_functions\.py"):
        wb.compile(f, fullgraph=True)(x)
    with pytest.raises(GraphError, match="draws random numbers"):
        wb.compile(nn.Dropout(0.5), fullgraph=True)(x)


def test_dropout_is_drawn_anew_each_time() -> None:
    compiled = wb.compile(nn.Dropout(0.5))
    x = wb.ones(1000)
    assert not np.array_equal(compiled(x).numpy(), compiled(x).numpy())


def test_numbers_words_and_containers_are_arguments() -> None:
    def f(pair: Any, scale: float, *, mode: str = "relu") -> Any:
        y = pair["a"] + pair["b"][0]
        return {"out": (y.relu() if mode == "relu" else y.tanh()) * scale}

    compiled = wb.compile(f)
    pair = {"a": wb.tensor([1.0, -2.0]), "b": [wb.tensor([0.5, 0.5])]}
    for scale, mode in ((2.0, "relu"), (3.0, "relu"), (3.0, "tanh"), (3, "relu")):
        found, expected = compiled(pair, scale, mode=mode)["out"], f(pair, scale, mode=mode)["out"]
        assert np.allclose(found.numpy(), expected.numpy(), rtol=1e-6)
    assert calls(compiled) == {"compiled": 4}


def test_methods_are_compiled_for_each_object() -> None:
    class Net(nn.Module):
        def __init__(self, scale: float) -> None:
            super().__init__()
            self.scale = scale

        @wb.compile
        def forward(self, x: Any) -> Any:
            return x.relu() * self.scale

    first, second = Net(2.0).eval(), Net(3.0).eval()
    x = wb.tensor([1.0, -1.0])
    assert first(x).tolist() == [2, 0] and second(x).tolist() == [3, 0] and first(x).tolist() == [2, 0]
    assert calls(first.forward) == {"compiled": 2}


def test_words_at_the_door() -> None:
    def f(x: Any) -> Any:
        return x

    assert wb.compile(f, disable=True) is f and wb.compile(f, backend="eager") is f
    assert wb.compile(disable=True)(f) is f
    with pytest.raises(UnavailableError, match=r"to wb\.register_backend"):
        wb.compile(f, backend=lambda graph, inputs: graph)
    with pytest.raises(TypeError, match="a module or a function, got int"):
        wb.compile(3)
    with pytest.raises(TypeError, match=r"what wb\.compile returned, got function"):
        wb.compiler.explain(f)


def test_a_backend_of_ones_own_is_given_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def compile(graph: Any) -> Any:
        seen.append(graph)
        return lambda *inputs: graph(*inputs)

    for state in ("_by_name", "_by_array"):
        monkeypatch.setattr(registry, state, {})
    numbers = {"from_numpy": lambda array, device: array, "to_numpy": lambda array: array}
    wb.register_backend(wb.Backend("mine", Numbers, **numbers, compile=compile))
    fast = wb.compile(lambda x: x.relu().permute("C", "N"), backend="mine")
    x = wb.tensor([[1.0, -1.0]], names=("N", "C"))
    assert (fast(x).tolist(), fast(x).names) == ([[1.0], [0.0]], ("C", "N"))
    assert [node.op.name for node in seen[0].nodes] == ["relu", "permute"]
    with pytest.raises(
        UnavailableError, match=r"'bfloat16' is for our own programs; the backend 'mine' computes in"
    ):
        wb.compile(lambda x: x, backend="mine", precision="bfloat16")
    wb.register_backend(wb.Backend("slow", OtherNumbers, **numbers))
    with pytest.raises(UnavailableError, match="'slow' computes op by op"):
        wb.compile(lambda x: x, backend="slow")
    with pytest.raises(UnavailableError, match="there is no backend 'nowhere'"):
        wb.compile(lambda x: x, backend="nowhere")


class Numbers(np.ndarray):
    pass


class OtherNumbers(np.ndarray):
    pass


def test_arguments_come_in_their_order() -> None:
    compiled = wb.compile(lambda x, y, unused: y.relu() - x)
    found = compiled(wb.tensor([1.0, 2.0]), wb.tensor([5.0, -5.0]), wb.ones(3))
    assert found.tolist() == [4.0, -2.0]


def test_results_that_are_always_the_same_are_nobody_elses() -> None:
    weight = wb.tensor([1.0, 2.0])
    compiled = wb.compile(lambda x: (weight * 2, x + 1))
    compiled(wb.zeros(2))[0].zero_()
    assert compiled(wb.zeros(2))[0].tolist() == [2.0, 4.0]


def test_products_of_every_kind() -> None:
    weight, bias = wb.randn(6, 4), wb.randn(4)

    def f(x: Any, y: Any) -> Any:
        second = (x @ y).relu()
        return (x @ weight + bias).relu(), second, x @ y + second

    x, y = wb.randn(2, 5, 6), wb.randn(2, 6, 3)
    compiled = wb.compile(f)
    for found, expected in zip(compiled(x, y), f(x, y), strict=True):
        assert np.allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
    (program,) = wb.compiler.explain(compiled).programs
    assert not program.eager


def test_a_step_writes_over_nothing_that_is_read_later() -> None:
    def f(x: Any) -> Any:
        first = x.relu().cumsum(0)  # an op between two programs
        second = first * 2 + 1
        third = second.reshape(-1).softmax(0)
        return third + (second.tanh() * first).reshape(-1), second

    x = wb.randn(4, 5)
    for found, expected in zip(wb.compile(f)(x), f(x), strict=True):
        assert np.allclose(found.numpy(), expected.numpy(), rtol=1e-5)


class Pair(NamedTuple):
    a: Any
    b: Any


def test_results_are_put_together_as_the_function_does() -> None:
    x = wb.tensor([[1.0, 3.0, 2.0]])
    compiled = wb.compile(
        lambda x: {"top": x.topk(2), "pairs": [Pair(x * 2, x - 1)], "plain": (x + 1, [x * 3])}
    )
    found = compiled(x)
    assert calls(compiled) == {"compiled": 1}
    assert found["top"].values.tolist() == [[3.0, 2.0]] and found["top"].indices.tolist() == [[1, 2]]
    assert type(found["pairs"][0]) is Pair and found["pairs"][0].b.tolist() == [[0.0, 2.0, 1.0]]
    assert type(found["plain"]) is tuple and type(found["plain"][1]) is list
    with pytest.raises(GraphError, match="a result is OrderedDict"):
        wb.compile(lambda x: OrderedDict(a=x * 2), fullgraph=True)(x)


def test_a_number_that_changes_does_not_make_programs_without_end() -> None:
    compiled = wb.compile(lambda x, n: x * n)
    x = wb.ones(2)
    for n in range(70):
        assert compiled(x, n).tolist() == [n, n]
    assert calls(compiled)["compiled"] == 64


def test_a_layer_is_one_step_with_what_the_pass_puts_together_with_it() -> None:
    weight, rows, bias, other = wb.randn(6, 4), wb.randn(4, 6), wb.randn(4), wb.randn(5, 1)

    def f(x: Any, y: Any) -> Any:
        whole = (wb.nn.functional.linear(x, rows) + bias + y).clamp(-1, 1)
        # A step has no place for a vector that is no constant, nor for a weight that is none: what follows is a chain.
        return whole, (x @ weight + y[0] * 2).tanh(), (x @ y.T[:, :1].expand(4, 6).T + other).relu()

    given = wb.randn(5, 6), wb.randn(5, 4)
    compiled = wb.compile(f)
    for _ in range(2):
        for found, expected in zip(compiled(*given), f(*given), strict=True):
            assert np.allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
    report = wb.compiler.explain(compiled)
    assert report.fused == {"linear, add, add, clamp": 1, "add, tanh": 1, "add, relu": 1}
    assert "fused into one step: linear, add, add, clamp" in str(report)


def test_an_image_is_turned_once_and_every_convolution_has_code_of_its_own() -> None:
    model = wb.models.resnet18().eval()
    compiled = wb.compile(model)
    with wb.no_grad():
        compiled(wb.rand(1, 3, 64, 64))
    (program,) = wb.compiler.explain(compiled).programs
    assert sum(count for name, count in program.steps.items() if name.startswith("turn")) == 1
    assert not [name for name in program.steps if "ref" in name]
    # A linear layer of one row is a product wherever it runs.
    assert not [name for name in program.steps if "gemm" in name and not name.startswith("linear")]
