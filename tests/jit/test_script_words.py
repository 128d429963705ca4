"""TorchScript's other words: classes, enums, overloads, interfaces, what is scripted or traced already, freezing."""

from __future__ import annotations

import io
from enum import Enum
from typing import Any, NamedTuple

import pytest

import workbench as wb
from tests.jit.programs import same_value
from workbench import Tensor, nn


class Point(NamedTuple):
    x: Tensor
    n: int = 2


class Colour(Enum):
    RED = 1
    GREEN = 2


def saved(made: Any) -> Any:
    file = io.BytesIO()
    wb.jit.save(made, file)
    file.seek(0)
    return wb.jit.load(file)


def described(x: Tensor, c: Colour) -> tuple[Point, Colour]:
    other = Colour.GREEN if c == Colour.RED else Colour.RED
    return Point(x, n=c.value), other


def test_named_tuples_and_enums_come_back_as_such() -> None:
    made = wb.jit.script(described)
    point, colour = made(wb.ones(1), Colour.RED)
    assert type(point) is Point and point.n == 1 and colour is Colour.GREEN
    # An archive knows no classes of the program: it has some of the same names.
    point, colour = saved(made)(wb.ones(1), Colour.GREEN)
    assert type(point).__name__ == "Point" and point.n == 2 and colour.name == "RED"


@wb.jit.script
class Account:
    def __init__(self, n: int) -> None:
        self.n = n
        self.items: dict[str, int] = {}

    def add(self, key: str) -> Account:
        self.items[key] = self.n
        self.n += 1
        return self

    @property
    def size(self) -> int:
        return len(self.items)


def accounts(n: int) -> tuple[Account, int]:
    one = Account(n)
    for key in ["x", "y"]:
        one.add(key)
    return one.add("z"), one.size


def adding(one: Account) -> int:
    return one.add("q").n


def test_objects_of_scripted_classes() -> None:
    found, size = wb.jit.script(accounts)(3)
    assert type(found) is Account and found.items == {"x": 3, "y": 4, "z": 5} and size == 3 and found.n == 6
    assert wb.jit.script(adding)(found) == 7 and found.items["q"] == 6


@wb.jit._overload
def twice(x: int) -> int: ...
@wb.jit._overload
def twice(x: str) -> str: ...  # noqa: F811
def twice(x):  # noqa: F811
    return x + x


def overloaded(a: int, b: str) -> tuple[int, str]:
    return twice(a), twice(b)


def test_overloads_are_chosen_by_type() -> None:
    assert wb.jit.script(overloaded)(2, "a") == (4, "aa")


def nested(x: Tensor) -> Tensor:
    def scaled(y: Tensor, k: int = 2) -> Tensor:
        return y * k + x

    return scaled(x) + scaled(x, 3)


def test_functions_in_functions() -> None:
    assert same_value(wb.jit.script(nested)(wb.ones(1)), nested(wb.ones(1)))


@wb.jit.interface
class Layer(nn.Module):
    def one(self, x: Tensor) -> Tensor: ...


class Five(nn.Module):
    def one(self, x: Tensor) -> Tensor:
        return x * 5


class Using(nn.Module):
    part: Layer

    def __init__(self) -> None:
        super().__init__()
        self.part = Five()

    def forward(self, x: Tensor) -> Tensor:
        return self.part.one(x)


def test_a_module_behind_an_interface() -> None:
    assert (wb.jit.script(Using())(wb.ones(1)) == 5).all()


doubled = wb.jit.trace(lambda x: x * 2, wb.ones(2))


@wb.jit.script
def tripled(x: Tensor, n: int = 3) -> Tensor:
    return x * n


def both(x: Tensor) -> Tensor:
    return doubled(x) + tripled(x)


class Around(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) + 1


def test_what_is_scripted_or_traced_already() -> None:
    assert (wb.jit.script(both)(wb.ones(2)) == 5).all()
    assert wb.jit.script(tripled) is tripled
    layer, x = nn.Linear(2, 2), wb.rand(1, 2)
    for inner in (wb.jit.script(layer), wb.jit.trace(layer, x)):
        assert same_value(wb.jit.script(Around(inner))(x), layer(x) + 1)


class Setting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.count = True, 0
        self.layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout())

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        if self.wide:
            return self.layers(x) * self.count
        return x


def test_freezing_decides_by_what_does_not_change() -> None:
    model = Setting().eval()
    frozen = wb.jit.freeze(wb.jit.script(model))
    x = wb.rand(1, 1, 4, 4)
    assert (
        not list(frozen.parameters()) and "wide" not in str(frozen.graph) and "if(" not in str(frozen.graph)
    )
    expected = model(x)
    for found in (frozen(x), saved(frozen)(x) / 2):
        assert wb.allclose(found, expected.detach())
    assert frozen.count == 1


def ended(x: Tensor, n: int) -> Tensor:
    with wb.no_grad():
        if n > 2:
            return x * 2
        y, z = x * 3, (x, n)
    return x + y * z[0]


@pytest.mark.parametrize("n", [1, 3])
def test_gradients_end_under_no_grad(n: int) -> None:
    one, other = (wb.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    found, expected = wb.jit.script(ended)(one, n), ended(other, n)
    assert found.requires_grad == expected.requires_grad and same_value(found.detach(), expected.detach())
    if n == 1:
        found.sum().backward(), expected.sum().backward()
        assert (one.grad == other.grad).all()


def under(x: Tensor, xs: list[Tensor]) -> Tensor:
    with wb.no_grad():
        x.add_(1)
    return x


def test_what_is_changed_under_no_grad_is_refused() -> None:
    with pytest.raises(wb.jit.ScriptError, match="changed in place under no_grad"):
        wb.jit.script(under)


def test_a_graph_of_a_file_looks_at_no_other_attributes() -> None:
    made = wb.jit.script(Setting())
    node = next(node for node in made.graph.nodes if node.name == "getitem")
    node.inputs = (node.inputs[0], "_graphs")
    with pytest.raises(
        wb.graph.GraphError, match="the module has no attribute '_graphs' that its graph may look at"
    ):
        made(wb.rand(1, 1, 4, 4))
