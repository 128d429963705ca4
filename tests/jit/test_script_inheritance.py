"""Scripts of methods that call those of the classes above theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from tests.jit.programs import same_value
from tests.jit.test_script_modules import saved
from workbench import Tensor, nn


class Below(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.times = nn.Linear(4, 4), 2

    def forward(self, x: Tensor) -> Tensor:
        return self.scaled(self.layer(x))

    def scaled(self, x: Tensor) -> Tensor:
        return x * self.times


class Middle(Below):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).relu()


class Above(Middle):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) - 1

    def scaled(self, x: Tensor) -> Tensor:
        return super().scaled(x) + x


class Beside(Below):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + 5


class Diamond(Middle, Beside):
    """What stands above `Middle` here is `Beside`."""


class Doubled(nn.Linear):
    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) * 2


class Rectified(nn.BatchNorm1d):
    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input).relu()


class Residual(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + x


MODULES: dict[str, Callable[[], nn.Module]] = {
    "of the program's own": Middle, "through two": Above, "of two sides": Diamond,
    "of a layer": lambda: Doubled(4, 3), "of a layer that inherits its forward": lambda: Rectified(4),
    "of a sequence": lambda: Residual(nn.Linear(4, 4), nn.Tanh()),
    "in parts": lambda: nn.Sequential(Residual(nn.Linear(4, 4)), Doubled(4, 2), nn.ReLU()),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_super_is_the_class_above(name: str) -> None:
    model, x = MODULES[name]().eval(), wb.randn(3, 4)
    scripted = wb.jit.script(model)
    with wb.no_grad():
        assert same_value(scripted(x), model(x))
        assert same_value(saved(scripted)(x), model(x))


class Unknown(Below):
    def forward(self, x: Tensor) -> Tensor:
        return super().nothing(x)  # type: ignore[no-any-return, misc]


def outside(x: Tensor) -> Any:
    return super().forward(x)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (Unknown, "no class above Unknown has a method 'nothing'"),
        (
            lambda: outside,
            r"super\(\) stands in methods of modules, without arguments. Call the function by its name",
        ),
    ],
)
def test_what_has_no_class_above_is_refused(what: Callable[[], Any], words: str) -> None:
    with pytest.raises(wb.jit.ScriptError, match=words):
        wb.jit.script(what())


def by_device(x: Tensor) -> Tensor:
    if x.device.type == "cpu" and x.device.index is None:
        return x + 1
    return x


def test_a_device_says_what_it_is() -> None:
    x = wb.ones(2)
    assert same_value(wb.jit.script(by_device)(x), by_device(x))
