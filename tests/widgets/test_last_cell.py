"""The Shapes panel follows the cell that ran last: its value, what its last line named, or its shape error."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from workbench.live import cells
from workbench.live.messages import ClashState, SliceEvent, TensorState
from workbench.live.model import Refused
from workbench.live.registry import Registry, registry
from workbench.live.throttle import Throttle
from workbench.widgets.last_cell import CellModel, last_cell, made_by


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for model in registry.models():
        registry.withdraw(model)


def ended(code: str, value: Any = None, error: Exception | None = None, number: int | None = 3) -> Any:
    """What IPython says of a cell."""
    info = SimpleNamespace(raw_cell=code)
    return SimpleNamespace(info=info, result=value, error_in_exec=error, execution_count=number)


def state(model: Any) -> Any:
    return model.snapshot().state


def test_a_value_that_is_shown_stands_at_the_side_under_its_name() -> None:
    x = wb.ones(H=2, W=3)
    found = state(made_by(ended("y = 1\nx", x), {"x": x}))
    assert (found.head.title, found.head.source) == ("x", "cell 3")
    assert state(made_by(ended("x + 1", x + 1), {"x": x})).head.title == "tensor"


@pytest.mark.parametrize("code", ["x = wb.ones(2)", "x: object = wb.ones(2)", "x *= 2", "y = x = wb.ones(2)"])
def test_what_the_last_line_names_is_shown(code: str) -> None:
    found = state(made_by(ended(code), {"x": wb.ones(H=2)}))
    assert isinstance(found, TensorState) and found.head.title == "x"


@pytest.mark.parametrize("code", ["", "%time x", "x.sum()", "def f(): pass", "x, y = 1, 2", "absent", "1 +"])
def test_cells_that_make_no_tensor_change_nothing(code: str) -> None:
    assert made_by(ended(code), {"x": wb.ones(H=2), "y": 3}) is None


def test_a_shape_error_is_drawn_and_other_errors_are_not() -> None:
    with pytest.raises(wb.DimensionError) as caught:
        wb.ones(N=2) + wb.ones(M=2)
    assert isinstance(state(made_by(ended("x", error=caught.value), {})), ClashState)
    assert made_by(ended("x = 1 / 0", error=ZeroDivisionError()), {"x": wb.ones(2)}) is None


def test_one_model_holds_what_the_last_cell_made_and_is_the_latest() -> None:
    first, second = wb.ones(H=4), wb.ones(W=5)
    cells.ended.tell(ended("first", first), {"first": first})
    other = wb.live.show(wb.zeros(3))
    cells.ended.tell(ended("second", second), {"second": second})
    assert registry.models("shapes") == (other, last_cell)
    assert state(last_cell).head.title == "second"
    cells.ended.tell(ended("print(1)"), {})
    assert state(last_cell).head.title == "second"


def test_its_sliders_are_those_of_the_tensor() -> None:
    images = wb.rand(N=5, H=3, W=3)
    cells.ended.tell(ended("images", images), {"images": images})
    told: list[Any] = []
    stop = last_cell.listen(told.append)
    last_cell.handle(SliceEvent("slice", 0, 2))
    stop()
    assert told == [last_cell]
    with pytest.raises(Refused, match="no cell has made a tensor yet"):
        CellModel().handle(SliceEvent("slice", 0, 0))


def test_pictures_do_not_rest_when_the_cell_has_ended() -> None:
    throttle = Throttle(threaded=False)
    models = Registry()

    class Slow(CellModel):
        settled = 0

        def settle(self) -> None:
            self.settled += 1

    slow = Slow()
    models.know(slow)
    throttle.request("one", lambda: None)
    assert throttle.step()
    throttle._last["one"] = (throttle._clock(), 100.0)  # it was costly
    throttle.request("one", lambda: None)
    delay = throttle.delay()
    assert delay is not None and delay > 1000
    cells.settle(models, throttle)
    delay = throttle.delay()
    assert delay is not None and delay < 1
    assert slow.settled == 1
