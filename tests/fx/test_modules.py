"""`GraphModule`: code that runs, recompiled after changes, with what the graph names; copies, tracebacks, houses."""

from __future__ import annotations

import copy
import gc
import linecache
import operator
import pickle
import traceback
from typing import Any, NamedTuple

import pytest

import workbench as wb
from workbench import fx, nn
from workbench.graph import GraphError, check, parse, python_text, text
from workbench.graph.passes import dead_code


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True))
        self.unused = nn.Linear(1, 1)
        self.weight = nn.Parameter(wb.ones(4))

    def forward(self, x: wb.Tensor, scale: float = 2.0) -> wb.Tensor:
        return (self.first(x) * self.weight).sum(dim=1) * scale


@pytest.fixture
def module() -> fx.GraphModule:
    wb.manual_seed(0)
    return fx.symbolic_trace(Net())


def test_code_lets_values_go_behind_their_last_use() -> None:
    def program(x: Any, input: Any = None) -> Any:
        y, z = wb.cat([x, x]), x.unsqueeze(-1).size()
        return y[0] * z[1], -y if x is None else 2**y, {"a": [float("inf"), wb.float32]}, slice(None, 3)

    assert fx.symbolic_trace(program).code.split("\n")[3:] == [
        "def forward(self, x : 'Any', input : 'Any' = None) -> 'Any':",
        "    input_1 = input",
        "    cat = workbench.cat([x, x])",
        "    unsqueeze = x.unsqueeze(-1);  x = None",
        "    size = unsqueeze.size();  unsqueeze = None",
        "    getitem = cat[0]",
        "    getitem_1 = size[1];  size = None",
        "    mul = getitem * getitem_1;  getitem = getitem_1 = None",
        "    pow_1 = 2 ** cat;  cat = None",
        "    return (mul, pow_1, {'a': [inf, workbench.float32]}, slice(None, 3, None))",
        "    ",
    ]


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.mark.parametrize(
    "operands",
    [
        (1, -2.5, True, None, "text's", b"bytes"),
        (1j, float("inf"), -float("inf"), complex("inf+1j"), ...),
        ([{"a": (1,)}, ()], Pair(1, [2]), slice(1, None, 2), wb.Size([1])),
        (wb.float16, wb.device("cpu"), int, wb.Tensor, len, operator.add, wb.relu, wb.channels_last),
    ],
    ids=["plain", "numbers", "nested", "things"],
)
def test_every_operand_is_written_and_comes_back(operands: tuple[Any, ...]) -> None:
    graph = fx.Graph()
    graph.output(graph.call_function(lambda *given: given, operands))
    found = fx.GraphModule({}, graph)()
    assert repr(found) == repr(tuple(tuple(one) if type(one) is wb.Size else one for one in operands))


def test_calls_by_hand_that_python_writes_otherwise() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    power = graph.call_function(operator.pow, (-1, x))
    graph.call_function(operator.setitem, (x, 0, power))
    total = graph.call_function(operator.iadd, (x, 1))
    graph.call_function(getattr, (x, "not a word", None))
    odd = graph.call_function(dict, (), {"a": 1, "not a word": total})
    graph.output((power, odd, graph.call_method("join", (", ", ["a", "b"]))))
    code = graph.python_code().src
    assert (
        "pow_1 = (-1) ** x" in code and "x[0] = pow_1;  setitem = x" in code and "x += 1;  iadd = x" in code
    )
    x = wb.tensor([2.0])
    power, odd, joined = fx.GraphModule({}, graph)(x)
    assert power.tolist() == [1.0] and odd["not a word"].tolist() == [2.0] and joined == "a, b"


def test_annotations_are_printed() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x", type_expr=wb.Tensor)
    y = graph.placeholder("y", type_expr=list[int] | None)
    graph.output(graph.call_function(wb.relu, (x,), type_expr=wb.Tensor), type_expr=tuple[wb.Tensor, ...])
    graph.eliminate_dead_code()
    assert fx.GraphModule({}, graph).code.split("\n")[3:5] == [
        "def forward(self, x : workbench.Tensor, y : list[int] | None) -> tuple[workbench.Tensor, ...]:",
        "    relu : workbench.Tensor = workbench.nn.functional.relu(x);  x = None",
    ]
    assert y.type == list[int] | None


def test_only_what_the_graph_names_is_taken_over(module: fx.GraphModule) -> None:
    assert sorted(dict(module.named_children())) == ["first"] and type(module).__name__ == "Net"
    assert isinstance(module, fx.GraphModule) and not isinstance(module, Net)
    # What stands at the paths are the very modules and parameters that were traced.
    assert sorted(module.state_dict()) == [
        "first.0.bias", "first.0.weight", "first.1.bias", "first.1.num_batches_tracked", "first.1.running_mean",
        "first.1.running_var", "first.1.weight", "weight",
    ]  # fmt: skip
    with pytest.raises(
        RuntimeError, match=r"Node weight referenced target weight but that target was not provided in root!"
    ):
        fx.GraphModule(
            {"first.0": nn.ReLU(), "first.1": nn.ReLU(), "first.2": nn.ReLU()}, copy.deepcopy(module.graph)
        )
    with pytest.raises(RuntimeError, match="Node weight referenced nonexistent target weight of ReLU"):
        fx.GraphModule(nn.ReLU(), copy.deepcopy(module.graph))
    with pytest.raises(RuntimeError, match="Unsupported type list passed for root"):
        fx.GraphModule([], module.graph)  # type: ignore[arg-type]


def test_changes_run_once_it_is_recompiled(module: fx.GraphModule) -> None:
    x = wb.randn(2, 4)
    module.eval()
    before = module(x)
    for node in module.graph.find_nodes(op="call_function", target=operator.mul):
        node.target = operator.add
    assert wb.equal(module(x), before)
    module.graph.lint()
    code = module.recompile()
    assert module.code == code.src and "first_2 + weight" in module.code
    assert not wb.equal(module(x), before)
    graph = fx.Graph()
    graph.output(graph.placeholder("x"))
    module.graph = graph
    assert module(x) is x and graph.owning_module is module
    with pytest.raises(AssertionError, match="Expected a Graph instance"):
        module.graph = module.code  # type: ignore[assignment]


def test_modules_come_and_go(module: fx.GraphModule) -> None:
    assert module.add_submodule("more.deep.layer", nn.Linear(4, 4)) and isinstance(
        module.more.deep.layer, nn.Linear
    )
    assert not module.add_submodule("weight.layer", nn.ReLU())
    with module.graph.inserting_before(module.graph.output_node()):
        module.graph.call_module("more.deep.layer", (1,))
    module.add_submodule("more.other", nn.ReLU())
    module.delete_all_unused_submodules()
    assert [name for name, _ in module.named_modules() if name.startswith("more")] == [
        "more",
        "more.deep",
        "more.deep.layer",
    ]
    assert module.delete_submodule("more.deep.layer") and not module.delete_submodule("more.deep.layer")
    assert not module.delete_submodule("weight")


def test_it_is_a_module_like_any_other(module: fx.GraphModule) -> None:
    assert module.training and not module.eval().training
    assert not module.first.get_submodule("1").training
    state = {name: wb.zeros_like(one) for name, one in module.state_dict().items()}
    module.load_state_dict(state)
    assert module(wb.ones(2, 4)).tolist() == [0.0, 0.0]
    seen: list[str] = []
    module.register_forward_hook(lambda *_: seen.append("called"))
    module(wb.ones(2, 4))
    assert seen == ["called"] and "print_readable" in str(module) and "Linear" in repr(module)


def test_copies_share_nothing(module: fx.GraphModule) -> None:
    module.extra = {"kept": [1]}
    module.graph.output_node().meta["note"] = 1
    other = copy.deepcopy(module.eval())
    assert other.code == module.code and not other.training and other.extra == {"kept": [1]}
    assert other.weight is not module.weight and type(other).__name__ == "Net"
    assert other.graph.output_node().meta == {"note": 1} and other.graph.owning_module is other
    x = wb.randn(2, 4)
    assert wb.equal(other(x), module(x))
    with wb.no_grad():
        other.weight.zero_()
    assert module(x).abs().sum() > 0
    shallow = copy.copy(module)
    assert shallow.weight is module.weight and shallow.graph is not module.graph


def test_it_is_not_pickled(module: fx.GraphModule) -> None:
    with pytest.raises(TypeError, match=r"a GraphModule is not pickled, .* write state_dict"):
        pickle.dumps(module)


def test_tracebacks_show_the_lines_of_the_code(module: fx.GraphModule) -> None:
    with pytest.raises(TypeError) as caught:
        module(object())
    shown = "".join(traceback.format_exception(caught.value))
    assert 'first_0 = getattr(self.first, "0")(x);  x = None' in shown
    name = type(module).forward.__code__.co_filename
    assert name in linecache.cache
    linecache.checkcache()
    assert name in linecache.cache
    del caught
    type(module).forward = None  # type: ignore[assignment,method-assign]
    # What walks through the lines, as a debugger does, may collect garbage on its way.
    gc.collect()
    assert name in linecache.cache
    assert fx.symbolic_trace(lambda x: x + 1)(1) == 2
    assert name not in linecache.cache


def test_readable_code_says_where_it_came_from(
    module: fx.GraphModule, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = module.print_readable()
    assert capsys.readouterr().out == shown + "\n"
    assert shown.startswith("class Net(workbench.nn.Module):\n    def forward(self, x : 'wb.Tensor', scale")
    assert "test_modules.py:" in shown and "# File: " in shown


# ------------------------------------------------------------------------------------ the graph of the house


def test_the_graph_of_the_house_checks_prints_reads_and_runs(module: fx.GraphModule) -> None:
    module.eval()
    house = check(module.graph.ir)
    x = wb.randn(3, 4)
    assert wb.equal(house(x, 2.0), module(x))
    assert [one.name for one in house.parameters] == ["weight"] and sorted(house.modules) == [
        "first.0",
        "first.1",
        "first.2",
    ]
    for form in (text, python_text):
        again = parse(form(house), {"weight": module.weight}, house.modules)
        assert form(again) == form(house) and wb.equal(again(x, 2.0), module(x))


def test_what_is_written_into_is_said(module: fx.GraphModule) -> None:
    house = module.graph.ir
    # The activation was made with `inplace=True`.
    assert [[one.name for one in node.writes] for node in house.nodes[:3]] == [[], [], ["first_1"]]
    graph = fx.symbolic_trace(lambda x: x.add_(1).clamp(0, out=x)).graph
    assert [[one.name for one in node.writes] for node in check(graph.ir).nodes] == [["x"], ["x"]]


def helper(x: Any) -> Any:
    return x + 1


def test_functions_of_the_program_are_held() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    other = (lambda: helper)()
    same_name: Any = lambda x: x * 2
    same_name.__module__, same_name.__name__ = helper.__module__, "helper"
    graph.output(
        graph.call_method("items", (graph.call_function(same_name, (graph.call_function(other, (x,)),)),))
    )
    house = check(graph.ir)
    held = house.held_functions
    assert len(held) == 3 and "functions['method.items']" in text(house)

    class Has(float):
        def __add__(self, other: Any) -> Any:
            return self

        def __mul__(self, other: Any) -> Any:
            return {"a": 1}

    assert list(house(Has(1))) == [("a", 1)]
    assert text(parse(text(house), functions=held)) == text(house)


def test_passes_of_the_house_take_it() -> None:
    graph = fx.symbolic_trace(lambda x: (x.relu(), operator.add(x.shape[0], 1))[0]).graph
    assert [one.name for one in graph.ir.nodes] == ["relu", "getattr_1", "getitem", "add"]
    # What the house knows to do nothing else goes.
    assert [one.name for one in dead_code(graph.ir.copy()).nodes] == ["relu"]


def test_what_the_house_cannot_hold_is_named() -> None:
    graph = fx.Graph(nn.ReLU())
    graph.output(graph.get_attr("training"))
    with pytest.raises(GraphError, match="training is 'training' of the module, bool and no tensor"):
        graph.ir  # noqa: B018
    graph.erase_node(graph.output_node())
    with pytest.raises(GraphError, match="no output, or several"):
        graph.ir  # noqa: B018
    graph = fx.Graph(nn.ReLU())
    graph.output(graph.call_module("nowhere"))
    with pytest.raises(
        GraphError, match="nowhere calls the module 'nowhere', and the graph's owner has none there"
    ):
        graph.ir  # noqa: B018
