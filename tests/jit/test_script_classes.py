"""Dataclasses in scripts, and modules whose methods are compiled when an object has been made."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import pytest

import workbench as wb
from workbench import Tensor, nn


def again(script: Any) -> Any:
    """Return a script out of an archive."""
    file = io.BytesIO()
    wb.jit.save(script, file)
    file.seek(0)
    return wb.jit.load(file)


# ------------------------------------------------------------------------------------------------- dataclasses


@dataclass
class Limits:
    low: float
    high: float = 1.0
    names: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    note: str | None = None

    def width(self) -> float:
        return self.high - self.low


@dataclass
class Ordered(Limits):
    swapped: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.low > self.high:
            self.low, self.high = self.high, self.low
            self.swapped = True


def made(low: float) -> tuple[float, list[str], int, bool]:
    one = Limits(low)
    two = Limits(low, high=4.0, note="x")
    one.names.append("a")
    two.counts["b"] = 3
    same = one == Limits(low, names=["a"]) and one != two and two.note is not None
    return one.width() + two.width(), one.names + two.names, len(two.counts), same


def ordered(low: float) -> tuple[float, float, bool]:
    found = Ordered(low, 2.0)
    return found.low, found.high, found.swapped


def given(limits: Limits, x: Tensor) -> Limits:
    limits.high += 1
    limits.names.append("seen")
    return Limits(limits.low, limits.high * float(x.sum()), limits.names)


def test_a_dataclass_is_made_of_its_fields() -> None:
    for function in (made, ordered):
        script = wb.jit.script(function)
        assert script(0.5) == function(0.5) == again(script)(0.5)
        assert script(3.0) == function(3.0)


def test_an_object_of_a_dataclass_goes_in_and_out() -> None:
    one, other = Limits(0.0), Limits(0.0)
    assert wb.jit.script(given)(one, wb.ones(2)) == given(other, wb.ones(2)) and one == other


def missing() -> float:
    return Limits().low


def unknown() -> float:
    return Limits(1.0, wide=2.0).low


def typed() -> float:
    return Limits("a").low


def compared(x: float) -> bool:
    return Sorted(x) < Sorted(2.0)


@dataclass(order=True)
class Sorted:
    x: float


@dataclass
class Made:
    x: Any = field(default_factory=lambda: [1])


def made_by_lambda() -> int:
    return len(Made().x)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (missing, "Limits takes low, and it is not given"),
        (unknown, "Limits takes low, high, names, counts, note"),
        (typed, "the field low of Limits is float, and this is str"),
        (
            compared,
            "Sorted.__lt__ is made by dataclass, and has no source that a script could read. Write __lt__",
        ),
        (made_by_lambda, "the default of the field x of Made is no value that a script can make. Pass x="),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_what_a_dataclass_cannot_is_refused(function: Any, words: str) -> None:
    with pytest.raises(wb.jit.ScriptError, match=words) as caught:
        wb.jit.script(function)
    assert "test_script_classes.py" in str(caught.value)


# ------------------------------------------------------------------------------------------------- script_method


class Counted(wb.jit.ScriptModule):
    __constants__ = ["scale"]  # noqa: RUF012  as PyTorch's programs write it

    def __init__(self, scale: int) -> None:
        super().__init__()
        self.scale = scale
        self.weight = nn.Parameter(wb.ones(2))
        self.layer = nn.Linear(2, 2)
        self.seen: list[int] = []

    @wb.jit.script_method
    def scaled(self, x: Tensor) -> Tensor:
        return x * self.scale

    @wb.jit.script_method
    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(x.size(0))
        if x.sum() > 0:
            x = x + 1
        return self.layer(self.scaled(x)) * self.weight

    def plain(self) -> str:
        return type(self).__name__


class Extended(Counted):
    def __init__(self) -> None:
        super().__init__(2)
        self.bias = nn.Parameter(wb.ones(2))

    @wb.jit.script_method
    def forward(self, x: Tensor) -> Tensor:
        return self.scaled(x) + self.bias


def test_methods_are_compiled_when_the_object_is_made() -> None:
    module, x = Counted(3), wb.ones(1, 2)
    wanted = module.layer((x + 1) * 3) * module.weight
    assert wb.equal(module(x), wanted) and wb.equal(module.scaled(x), x * 3)
    assert module.seen == [1] and module.plain() == "Counted" and "if" in str(module.graph)
    assert list(module.state_dict()) == ["weight", "layer.weight", "layer.bias"]
    module(x).sum().backward()
    assert module.weight.grad is not None and wb.jit.script(module) is module
    loaded = again(module)
    assert wb.equal(loaded(x), wanted) and wb.equal(loaded.scaled(x), x * 3) and loaded.seen == [1, 1, 1]


def test_a_class_made_from_another_compiles_its_own_methods() -> None:
    module = Extended()
    assert module(wb.ones(1, 2)).tolist() == [[3, 3]]
    whole = wb.jit.script(nn.Sequential(module, nn.ReLU()))
    assert whole(-wb.ones(1, 2)).tolist() == [[0, 0]]


def test_a_method_that_cannot_be_compiled_is_refused_when_the_object_is_made() -> None:
    class Wrong(wb.jit.ScriptModule):
        @wb.jit.script_method
        def forward(self, x: Tensor) -> Tensor:
            return (lambda y: y)(x)

    with pytest.raises(wb.jit.ScriptError, match="lambda functions aren't supported"):
        Wrong()


# ------------------------------------------------------------------------------------------------- beside them


def typed_empties(n: int) -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {}
    for i in range(n):
        found[str(i)] = []
        found[str(i)].append([])
        found[str(i)][0].append(i)
    return found


def percent(n: int, x: float, s: str) -> str:
    return "%d of %s" % (n, s) + "%.2f%%" % x + s % n if "%" in s else "%s" % n  # noqa: UP031


def shape_is(x: Tensor, n: int) -> tuple[bool, bool]:
    return x.shape == (n, 2), x.shape != (2, n)


def dtype_is(x: Tensor) -> bool:
    return x.dtype == wb.float32 or x.dtype in [wb.int64, wb.bool]


def test_small_words_are_those_of_python() -> None:
    for function, cases in (
        (typed_empties, [(0,), (2,)]),
        (percent, [(3, 0.5, "a"), (3, 0.5, "%d")]),
        (shape_is, [(wb.ones(3, 2), 3), (wb.ones(2, 2), 2)]),
        (dtype_is, [(wb.ones(1),), (wb.ones(1, dtype=wb.int64),), (wb.ones(1, dtype=wb.float64),)]),
    ):
        script = wb.jit.script(function)
        for case in cases:
            assert script(*case) == function(*case) == again(script)(*case)


def test_a_data_type_is_read_back_as_the_one_that_it_was() -> None:
    graph = wb.jit.script(dtype_is).graph
    for text in (str(graph), wb.graph.python_text(graph)):
        assert "data_type('float32')" in text
        assert wb.graph.parse(text)(wb.ones(1)) is True
    assert "from workbench.base.dtypes import as_dtype as data_type" in wb.graph.python_text(graph)
