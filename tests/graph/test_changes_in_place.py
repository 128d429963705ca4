"""What a traced function changes besides its result: the graph says it, or the function is refused with its line.

Eager code and the graph agree: results, and what is in the tensors that they were given afterwards.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import nn
from workbench.base.errors import AutogradError, DeviceError, NoNumbersError
from workbench.graph import Graph, GraphError, check, parse, passes, python_text, run, run_apart, text, trace

F = nn.functional
X = [1.0, -2.0, 3.0]

CHANGES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(1),
    "add_, another result": lambda x: (x.add_(1), x * 2)[1],
    "twice": lambda x: x.add_(1).mul_(x),
    "by a subscript": lambda x: (x.__setitem__(0, 5.0), x * 2)[1],
    "by places": lambda x: (x.index_put_((wb.tensor([0]),), wb.tensor([7.0])), x * 2)[1],
    "copy_": lambda x: (x.copy_(x * 3), x.sum())[1],
    "data": lambda x: (setattr(x, "data", x * 2), x + 0)[1],
    "zero_": lambda x: (x.zero_(), x + 1)[1],
    "relu_": lambda x: (F.relu(x, inplace=True), x * 2)[1],
    "read before": lambda x: (x * 1, x.clamp_(0, 1))[0],
    "two results": lambda x: (x.neg_(), x.exp()),
    "in no_grad": lambda x: _without_gradients(x),
}


def _without_gradients(x: Any) -> Any:
    with wb.no_grad():
        x.mul_(2)
    return x + 1


def _listed(value: Any) -> Any:
    return [_listed(one) for one in value] if isinstance(value, tuple) else value.tolist()


@pytest.mark.parametrize("name", CHANGES)
def test_a_graph_says_what_its_inputs_become(name: str) -> None:
    function = CHANGES[name]
    eager = wb.tensor(X)
    expected = function(eager)
    graph = trace(function, wb.tensor(X))
    check(graph)
    assert [one.name for one in graph.updates] == ["x"]
    given = wb.tensor(X)
    assert _listed(run(graph, given)) == _listed(expected)
    assert given.tolist() == eager.tolist()
    given = wb.tensor(X)
    result, after = run_apart(graph, given)
    assert _listed(result) == _listed(expected) and after["x"].tolist() == eager.tolist()
    assert given.tolist() == X


@pytest.mark.parametrize("form", [text, python_text])
def test_both_texts_say_it(form: Callable[[Graph], str]) -> None:
    graph = parse(form(trace(CHANGES["add_, another result"], wb.tensor(X))))
    given = wb.tensor(X)
    assert graph(given).tolist() == [4.0, -2.0, 8.0] and given.tolist() == [2.0, -1.0, 4.0]


def test_the_python_form_runs_and_writes() -> None:
    space: dict[str, Any] = {}
    exec(python_text(trace(CHANGES["add_, another result"], wb.tensor(X))), space)
    given = wb.tensor(X)
    assert space["graph"]({}, {}, given).tolist() == [4.0, -2.0, 8.0] and given.tolist() == [2.0, -1.0, 4.0]


@pytest.mark.parametrize("step", [passes.dead_code, passes.common_subexpressions, passes.constant_fold,
                                  passes.peephole, passes.freeze, passes.inline, passes.fuse_elementwise])  # fmt: skip
def test_passes_keep_it(step: Any) -> None:
    graph = step(trace(CHANGES["twice"], wb.tensor(X)))
    given = wb.tensor(X)
    assert graph(given).tolist() == [4.0, 1.0, 16.0] and given.tolist() == [4.0, 1.0, 16.0]


def test_gradients_of_such_a_graph_keep_it() -> None:
    weight = nn.Parameter(wb.tensor([2.0, 2.0, 2.0]))

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = weight

        def forward(self, x: wb.Tensor) -> wb.Tensor:
            return (x.mul_(3) * self.weight).sum()

    given = wb.tensor(X)
    _, gradients = passes.differentiate(trace(Scaled(), wb.tensor(X)))(given)
    assert gradients["weight"].tolist() == [3.0, -6.0, 9.0] == given.tolist()


def test_what_is_returned_is_the_tensor_that_was_given() -> None:
    graph = trace(lambda x, y: (x.add_(y), x * 2), wb.tensor(X), wb.tensor(X))
    given = wb.tensor(X)
    same, other = graph(given, wb.ones(3))
    assert same is given and other.tolist() == [4.0, -2.0, 8.0]


def test_gradients_go_through_the_change() -> None:
    graph = trace(lambda x, w: (x.mul_(w), x * x)[1], wb.tensor(X), wb.tensor(X))
    w = wb.tensor([2.0, 3.0, 4.0], requires_grad=True)
    x = wb.tensor(X)
    graph(x, w).sum().backward(retain_graph=True)
    assert w.grad is not None and w.grad.tolist() == [4.0, 24.0, 72.0]
    # What was given is on the tape as it would be had the function changed it.
    (x * 1).sum().backward()
    assert w.grad.tolist() == [5.0, 22.0, 75.0]


def test_a_leaf_that_asks_for_a_gradient_is_not_changed() -> None:
    graph = trace(CHANGES["add_"], wb.tensor(X))
    leaf = wb.tensor(X, requires_grad=True)
    with pytest.raises(AutogradError, match="a leaf Variable that requires grad"):
        graph(leaf)
    assert leaf.tolist() == X


def test_what_shares_memory_with_an_input_that_changes_is_refused() -> None:
    graph = trace(lambda x, y: (x.add_(1), y * 2)[1], wb.tensor(X), wb.tensor(X))
    both = wb.tensor([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(
        GraphError, match=r"changes x in place, which shares memory with y here: give it a clone\(\)"
    ):
        graph(both[:3], both[1:])
    assert both.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert graph(both[::2], both[1::2]).tolist() == [4.0, 8.0] and both.tolist() == [2.0, 2.0, 4.0, 4.0]


class Counting(nn.Module):
    """A module with a tensor that is no buffer."""

    def __init__(self, how: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.total, self.how = wb.zeros(3), how
        self.scale = nn.Parameter(wb.ones(3))
        self.last: Any = None

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        self.how(self, x)
        return x * self.scale + self.total


def _put(module: Any, x: Any) -> None:
    module.total = module.total + x


IN_A_MODULE: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda module, x: module.total.add_(x),
    "add_ of a number": lambda module, x: module.total.add_(1),
    "copy_": lambda module, x: module.total.copy_(x),
    "a subscript": lambda module, x: module.total.__setitem__(0, 1.0),
    "a view": lambda module, x: module.total[:2].fill_(4.0),
    "out": lambda module, x: wb.add(wb.ones(3), 1, out=module.total),
    "drawn": lambda module, x: module.total.uniform_(),
    "initialised": lambda module, x: nn.init.ones_(module.total),
    "the data of a parameter": lambda module, x: module.scale.data.mul_(0.5),
    "a number in a parameter": lambda module, x: module.scale.data.fill_(0.5),
    "another tensor": _put,
}  # fmt: skip


@pytest.mark.parametrize("name", IN_A_MODULE)
def test_tensors_of_a_module_that_are_no_buffers_are_not_changed_in_silence(name: str) -> None:
    module = Counting(IN_A_MODULE[name])
    total = module.total
    with pytest.raises(
        GraphError, match=r"(total|scale).*a run of the graph would leave that out.* buffer of the module"
    ):
        trace(module, wb.tensor(X))
    assert module.total is total
    if name != "initialised":  # written behind the ops: seen when it is done
        assert total.tolist() == [0.0] * 3 and module.scale.tolist() == [1.0] * 3


total = wb.zeros(3)
held = {"here": [wb.zeros(3)]}


def _global(x: Any) -> Any:
    total.add_(1)
    return x * total


def _in_a_container(x: Any) -> Any:
    held["here"][0].add_(1)
    return x * held["here"][0]


@pytest.mark.parametrize(
    ("function", "path"), [(_global, "total"), (_in_a_container, r"held\['here'\]\[0\]")]
)
def test_what_is_reached_by_a_name_is_refused_with_the_line(function: Any, path: str) -> None:
    with pytest.raises(
        GraphError, match=rf"test_changes_in_place\.py:\d+: add_ changes {path} in place, which it reaches"
    ):
        trace(function, wb.tensor(X))
    assert total.tolist() == held["here"][0].tolist() == [0.0] * 3


def test_what_the_function_makes_itself_may_be_changed() -> None:
    def function(x: wb.Tensor) -> wb.Tensor:
        mine = wb.zeros(3)
        mine.add_(2)
        mine[0] = 5.0
        own = x.clone()
        own.mul_(mine)
        return own

    graph = trace(function, wb.tensor(X))
    assert not graph.updates and graph(wb.tensor(X)).tolist() == [5.0, -4.0, 6.0]


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: (x.unsqueeze_(0), x)[1], GraphError, r"py:\d+: the traced function changes its input x in"),
        (lambda x: (x.rename_("C"), x * 1)[1], GraphError, "a graph changes numbers alone: write ops that return new"),
        (lambda x: (x[0:1].add_(1), x)[1], NoNumbersError, r"py:\d+: add_: this value is a view of another"),
        (lambda x: (x.detach().add_(1), x)[1], NoNumbersError, r"py:\d+: add_: this value is a view of another"),
        (lambda x: (wb.add(x, 1, out=x), x)[1], NoNumbersError, r"py:\d+: .* no numbers"),
        (lambda x: (x.resize_(6), x)[1], DeviceError, "only values on the CPU have memory"),
        (lambda x: (x.set_(wb.ones(3)), x)[1], DeviceError, "only values on the CPU have memory"),
        (lambda x: (setattr(x, "grad", wb.ones(3)), x * 1)[1], GraphError, r"calls backward\(\) or sets \.grad"),
        (lambda x: (setattr(total, "grad", wb.ones(3)), x * 1)[1], GraphError, r"calls backward\(\) or sets \.grad"),
    ],
)  # fmt: skip
def test_what_no_graph_can_say_is_refused(function: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        trace(function, wb.tensor(X))
    assert total.grad is None


def test_attributes_are_as_they_were_before_the_trace() -> None:
    def noting(module: Any, x: Any) -> None:
        module.last, module.fresh = x * 2, x

    module = Counting(noting)
    trace(module, wb.tensor(X))
    assert module.last is None and not hasattr(module, "fresh")
    module(wb.tensor(X))
    assert module.last.tolist() == [2.0, -4.0, 6.0]


def test_a_traced_program_changes_what_it_is_given_and_is_checked_on_it() -> None:
    example = wb.tensor(X)
    traced = wb.jit.trace(CHANGES["add_, another result"], example)
    assert example.tolist() == X
    given = wb.tensor(X)
    assert traced(given).tolist() == [4.0, -2.0, 8.0] and given.tolist() == [2.0, -1.0, 4.0]


def test_a_compiled_function_that_notes_something_runs_as_it_is_written() -> None:
    module = Counting(lambda module, x: setattr(module, "last", x)).eval()
    fast = wb.compile(module)
    with wb.no_grad():
        given = wb.tensor(X)
        fast(given)
    assert module.last is given
    assert "changes more than its result" in str(wb.compiler.explain(fast))


def test_a_file_says_that_the_function_changes_what_it_is_given() -> None:
    file = io.BytesIO()
    wb.onnx.save(CHANGES["add_, another result"], file, wb.tensor(X))
    given = wb.tensor(X)
    assert wb.onnx.load(file.getvalue())(given).tolist() == [4.0, -2.0, 8.0] and given.tolist() == X
    assert b"changes_inputs" in file.getvalue()
