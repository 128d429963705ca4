"""A graph that is written anew is the same graph; inlining, unrolling and peepholes keep its numbers, to the bit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.graph.test_random_graphs import graphs, plain, same
from workbench import models
from workbench.core.op import ops
from workbench.graph import Control, Graph, GraphError, check, parse, text, trace
from workbench.graph.passes import differentiate, freeze, inline, peephole, run_passes, unroll
from workbench.graph.rewriter import Rewriter

WHOLE = {
    "digits": (models.DigitsNet, {"N": 2, "C": 1, "H": 28, "W": 28}),
    "resnet18": (models.resnet18, {"N": 2, "C": 3, "H": 64, "W": 64}),
    "mobilenet_v2": (models.mobilenet_v2, {"N": 1, "C": 3, "H": 64, "W": 64}),
}


def calls(graph: Graph) -> list[Any]:
    return [node.callee.name if node.op is not None else node.callee for node, _ in graph.walk()]


@given(graphs(), st.integers(-2, 2), st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_graphs_stay_what_they_are(graph: Graph, n: int, b: bool) -> None:
    x = wb.tensor([0.5, -1.0, 2.0], names=("N",))
    (expected,) = plain(graph, dict(zip(graph.inputs, (x, n, b), strict=True)))
    before = text(graph)
    again = check(Rewriter(graph).rewritten())
    assert text(again) == before
    for step in run_passes(again, [inline, unroll, peephole]):
        same(step.after(x, n, b), expected)
    last = step.after
    assert not last.functions
    # What is left of loops has a condition that only a run knows.
    assert not any(node.callee is Control.LOOP and node.inputs[1] is True and
                   node.blocks[0].outputs[0] is True for node, _ in last.walk())  # fmt: skip
    assert text(graph) == before


@given(graphs(), st.integers(-2, 2), st.booleans(), st.sampled_from([1, 2, 4, 7]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_graphs_are_right_or_refuse_at_other_sizes(graph: Graph, n: int, b: bool, size: int) -> None:
    x = wb.arange(size).float().rename("N") * 0.5 - 1
    try:
        expected = graph(x, n, b)
    except wb.DimensionError:
        return
    same(peephole(unroll(inline(graph)))(x, n, b), expected)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", WHOLE)
def test_models_stay_what_they_are(name: str, training: bool) -> None:
    make, sizes = WHOLE[name]
    graph = trace(make().train(training), sizes)
    again = check(Rewriter(graph).rewritten())
    assert text(again) == text(graph)
    assert list(again.held().values()) == list(graph.held().values()) or all(
        one is other for one, other in zip(again.held().values(), graph.held().values(), strict=True)
    )


# ------------------------------------------------------------------------------------ functions, loops, branches


def test_a_function_that_is_inlined_brings_its_guards() -> None:
    graph = parse(
        """tail(%a : f32[N:3]):
  assert %a.shape[0] > 2  # net.py:3
  %b : f32[N:2] = index(%a, key=(slice(-2, None, None),))
  return %b
graph(%x : f32[N:4], %y : f32[N:3]):
  %z : f32[N:3] = index(%x, key=(slice(1, None, None),))
  %p : f32[N:2] = @tail(%z)
  %q : f32[N:2] = @tail(%y)
  %s : f32[N:2] = add(%p, %q)
  return %s"""
    )
    alone = check(inline(graph))
    assert not alone.functions and Control.IF not in calls(alone)
    assert alone(wb.ones(N=5), wb.ones(N=9)).shape == (2,)
    for one in (graph, alone):
        with pytest.raises(wb.DimensionError, match=r"net\.py:3 decided something by it"):
            one(wb.ones(N=5), wb.ones(N=2))


def test_a_function_called_for_its_tuple_gives_it() -> None:
    graph = parse(
        """both(%a : f32[N:3]):
  %b : f32[N:3] = exp(%a)
  return (%a, %b)
graph(%x : f32[N:3]):
  %t : tuple[f32[N:3], f32[N:3]] = @both(%x)
  %y : f32[N:3] = operator.getitem(%t, 1)
  return %y"""
    )
    assert calls(peephole(inline(graph))) == ["exp"]


def test_known_conditions_and_numbers_are_decided() -> None:
    graph = parse(
        """graph(%x : f32[N:3]):
  %n : int = operator.mul(2, 2)
  %c : bool = operator.gt(%n, 3)
  %y : f32[N:3] = if(%c):
    then():
      %a : f32[N:3] = loop(%n, True, %x):
        body(%i : int, %b : f32[N:3]):
          %j : int = operator.add(%i, 1)
          %d : f32[N:3] = mul(%b, %j)
          return True, %d
      return %a
    else():
      %e : f32[N:3] = exp(%x)
      return %e
  return %y"""
    )
    assert calls(check(unroll(graph))) == ["mul"] * 4
    assert unroll(graph)(wb.ones(N=3)).tolist() == [24.0] * 3
    # Too often, or too much: it stays.
    assert Control.LOOP in calls(unroll(graph, most_turns=3))
    assert Control.LOOP in calls(unroll(graph, most_nodes=7))


def test_a_loop_that_may_end_sooner_stays() -> None:
    source = """graph(%x : f32[N:3]):
  %y : f32[N:3] = loop(3, True, %x):
    body(%i : int, %a : f32[N:3]):
      %b : f32[N:3] = add(%a, 1)
      return CONDITION, %b
  return %y"""
    once = parse(source.replace("CONDITION", "False"))
    assert unroll(once)(wb.zeros(N=3)).tolist() == once(wb.zeros(N=3)).tolist() == [1.0] * 3
    again = parse(
        source.replace("      return CONDITION", "      %c : bool = operator.lt(%i, 1)\n      return %c")
    )
    assert unroll(again)(wb.zeros(N=3)).tolist() == again(wb.zeros(N=3)).tolist() == [2.0] * 3


def test_a_number_that_is_refused_is_left_for_a_run() -> None:
    graph = parse(
        "graph(%x : f32[N:3]):\n  %n : float = operator.truediv(1, 0)\n  %y : f32[N:3] = mul(%x, %n)\n  return %y"
    )
    assert len(unroll(graph).nodes) == 2
    with pytest.raises(ZeroDivisionError):
        unroll(graph)(wb.ones(N=3))


# ------------------------------------------------------------------------------------------------- peepholes


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: x * 1, []),
        (lambda x: 1 * x / 1 - 0, []),
        (lambda x: x**1, []),
        (lambda x: x + 0, ["add"]),
        (lambda x: x.long() + 0, ["to"]),
        (lambda x: x.long() * 1.0, ["to", "mul"]),
        (lambda x: x * 1j, ["mul"]),
        (lambda x: x.neg().neg(), []),
        (lambda x: x.t().t(), []),
        (lambda x: x.permute(1, 0).permute(1, 0).permute(1, 0), ["permute"]),
        (lambda x: x.reshape(6).reshape(3, 2), ["reshape"]),
        (lambda x: x.reshape(6).reshape(2, 3), ["reshape"]),
        (lambda x: x.reshape(3, 2).reshape(3, 2), ["reshape"]),
        (lambda x: x.expand(2, 3), []),
        (lambda x: x.expand(5, 2, 3), ["expand"]),
        (lambda x: x.relu().relu(), ["relu"]),
        (lambda x: x.abs().relu().abs(), ["abs", "relu", "abs"]),
        (lambda x: x.detach().detach(), ["detach"]),
        (lambda x: 1 - (1 - x), ["sub", "sub"]),
        (lambda x: 1 / x, ["div"]),
    ],
)
def test_what_does_nothing_is_left_out(function: Any, left: list[str]) -> None:
    x = wb.tensor([[0.0, -0.0, 1.5], [-2.5, float("inf"), float("nan")]])
    graph = trace(function, x)
    shorter = check(peephole(graph))
    assert calls(shorter) == left
    one, other = shorter(x).numpy(), function(x).numpy()
    assert one.dtype == other.dtype and one.tobytes() == other.tobytes()


def test_names_that_an_op_takes_away_are_taken_away() -> None:
    graph = peephole(trace(lambda x: x.reshape(6).reshape(2, 3), wb.ones(A=2, B=3)))
    assert graph(wb.ones(A=2, B=3)).names == (None, None)


def test_sizes_that_only_look_alike_are_not() -> None:
    # 4 in both today; the sum of two rows is no view of one.
    graph = trace(lambda x: x.expand(x.shape[0], 4), wb.ones(1, 4))
    assert peephole(graph)(wb.ones(1, 4)).shape == (1, 4)


# --------------------------------------------------------------------------------------- freezing, gradients


def test_a_frozen_graph_keeps_its_numbers() -> None:
    model = models.DigitsNet().eval()
    x = wb.randn(N=3, C=1, H=28, W=28)
    frozen = check(freeze(trace(model, x)))
    expected = model(x).detach().numpy()
    assert not frozen.parameters
    with wb.no_grad():
        model.fc.weight.zero_() if hasattr(model, "fc") else next(model.parameters()).zero_()
    assert frozen(x).numpy().tobytes() == expected.tobytes()


def test_a_graph_that_is_trained_is_not_frozen() -> None:
    with pytest.raises(GraphError, match=r"a run of DigitsNet changes bn1\..*call model\.eval\(\)"):
        freeze(trace(models.DigitsNet(), {"N": 2, "C": 1, "H": 28, "W": 28}))


class Loss(wb.nn.Module):
    """A model and its loss, of which a training step takes gradients."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Any, target: Any) -> Any:
        return wb.nn.functional.cross_entropy(self.model(x), target)


def test_the_graph_of_gradients_gives_those_of_backward() -> None:
    model = Loss(models.DigitsNet())
    x, target = wb.randn(N=4, C=1, H=28, W=28), wb.tensor([1, 2, 3, 4])
    graph = check(differentiate(trace(model, x, target)))
    before = {name: one.detach().clone() for name, one in model.state_dict().items()}
    result, gradients = graph(x, target)
    after = {name: one.detach().clone() for name, one in model.state_dict().items()}
    model.load_state_dict(before)
    loss = model(x, target)
    loss.backward()
    assert result.item() == loss.item()
    assert list(gradients) == [name for name, _ in model.named_parameters()]
    for name, parameter in model.named_parameters():
        assert gradients[name].numpy().tobytes() == parameter.grad.numpy().tobytes(), name
    for name, one in model.state_dict().items():
        assert after[name].numpy().tobytes() == one.numpy().tobytes(), name
    # A line of the model's own, and not of the pass.
    assert {node.source.partition(":")[0] for node in graph.nodes[:3]} <= {
        "digits.py",
        "test_rewriter.py",
        "",
    }


def test_gradients_that_arrive_are_inputs() -> None:
    graph = check(
        differentiate(
            trace(lambda x, y: {"a": x.sin() * y, "b": [x.sum(), x > 0]}, wb.ones(3), wb.ones(3)), ["x", "y"]
        )
    )
    assert [value.name for value in graph.inputs] == ["x", "y", "gradient", "gradient_1"]
    x, y, down = wb.rand(5), wb.rand(5), wb.rand(5)
    result, gradients = graph(x, y, down, wb.tensor(2.0))
    assert result["b"][1].all()
    same(gradients["x"], down * y * x.cos() + 2)
    same(gradients["y"], down * x.sin())


def test_what_no_gradient_reaches_is_none() -> None:
    _, gradients = differentiate(trace(lambda x, y: x.sum(), wb.ones(3), wb.ones(3)), ["x", "y"])(
        wb.ones(3), wb.ones(3)
    )
    assert gradients["y"] is None


@pytest.mark.parametrize(
    ("source", "wanted", "message"),
    [
        ("g(%x : f32[N:2]):\n  return %x", ["y"], "g has no parameter and no input 'y'; it has x"),
        ("g(%x : i64[N:2]):\n  return %x", ["x"], "g gives nothing that has gradients"),
        (
            "g(%x : f32[], %n : int):\n  %y : f32[] = mul(%x, %n)\n  return %y",
            ["x"],
            "n of g is int: gradients are of graphs of tensors",
        ),
        (
            "g(%x : f32[]):\n  %y : f32[] = if(%x):\n    then():\n      return %x\n    else():\n"
            "      %z : f32[] = exp(%x)\n      return %z\n  return %y",
            ["x"],
            "y of g is decided by a run.*passes.unroll",
        ),
    ],
)
def test_what_has_no_graph_of_gradients_is_refused(source: str, wanted: list[str], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        differentiate(parse(source), wanted)


def test_a_parameter_that_asks_for_no_gradient_is_refused_by_name() -> None:
    layer = wb.nn.Linear(2, 2)
    layer.bias.requires_grad_(False)
    with pytest.raises(GraphError, match="the parameter bias of Linear asks for no gradient"):
        differentiate(trace(layer, wb.ones(1, 2)), ["bias"])


def test_a_pass_of_ones_own_is_a_few_lines() -> None:
    class Tanh(Rewriter):
        def call(self, node: Any, inputs: Any, params: Any) -> Any:
            if node.op is ops.relu:
                return self.insert(ops.tanh, inputs, like=node)
            return self.again(node, inputs, params)

    graph = check(Tanh(trace(lambda x: x.relu().sum(), wb.ones(3))).rewritten())
    same(graph(wb.tensor([1.0, 2.0])), wb.tensor([1.0, 2.0]).tanh().sum())
