"""Graph mode: what a program asks of its values, several values at once, and observers that several values share."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.nn import functional

MAPPING = q.get_default_qconfig_mapping("onednn")


class Between(nn.Module):
    def __init__(self, between: Any) -> None:
        super().__init__()
        self.first, self.last, self.between = nn.Linear(6, 6), nn.Linear(6, 4), between

    def forward(self, x: Any) -> Any:
        return self.last(self.between(self.first(x)))


def forms(between: Any) -> tuple[Any, Any, Any, Any]:
    wb.manual_seed(0)
    model, x = Between(between).eval(), wb.randn(16, 6)
    prepared = q.prepare_fx(model, MAPPING, (x,))
    exact = prepared(x)
    return exact, prepared, q.convert_fx(prepared), x


ASKED: dict[str, Any] = {
    "type": lambda x: x * (x > 0).to(x.dtype),
    "type of another": lambda x: x + wb.ones(6, dtype=x.dtype),
    "whether it is floating": lambda x: x * (x.is_floating_point() * 2.0),
    "bytes": lambda x: x * (x.element_size() / 4),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_of_values_is_not_asked_of_codes(name: str) -> None:
    exact, prepared, integer, x = forms(ASKED[name])
    assert q.sqnr(exact, integer(x)) > 25
    assert q.sqnr(integer(x), q.convert_to_reference_fx(prepared)(x)) > 50


PARTED: dict[str, Any] = {
    "chunk": lambda x: wb.cat(wb.chunk(x, 2, 1)[::-1], 1),
    "split": lambda x: wb.cat([functional.relu(x.split([2, 4], 1)[1]), x.split([2, 4], 1)[0]], 1),
    "unbind": lambda x: wb.stack(x.unbind(1)[::-1], 1),
    "tensor_split": lambda x: wb.cat(wb.tensor_split(x, 2, 1), 1),
}


@pytest.mark.parametrize("name", PARTED)
def test_a_reference_form_has_values_in_parts(name: str) -> None:
    exact, prepared, integer, x = forms(PARTED[name])
    assert q.sqnr(exact, integer(x)) > 25
    assert q.sqnr(integer(x), q.convert_to_reference_fx(prepared)(x)) > 50


@pytest.mark.parametrize("make", [wb.zeros_like, wb.ones_like, lambda x: wb.full_like(x, 0.3)])
def test_codes_of_one_number_are_traced(make: Any) -> None:
    x = wb.quantize_per_tensor(wb.rand(3, 4), 0.1, 7, wb.quint8)
    graph = wb.graph.trace(make, x)
    for form in (graph, wb.compile(graph)):
        made = form(x)
        assert made.q_scale() == x.q_scale() and wb.equal(made.int_repr(), make(x).int_repr())


class Shared(nn.Module):
    """A layer that is called twice, and values of two sizes that are joined."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: Any) -> Any:
        small = self.layer(x)
        return wb.cat([small * 0.1, self.layer(small * 9.0)], 1)


def test_values_that_share_a_moving_average_are_seen_together() -> None:
    wb.manual_seed(0)
    model, x = Shared().train(), wb.randn(16, 6)
    prepared = q.prepare_qat_fx(model, q.get_default_qat_qconfig_mapping("onednn"), (x,))
    for _ in range(2):
        prepared(x)
    prepared.eval()
    assert q.sqnr(model(x), prepared(x)) > 25 and q.sqnr(model(x), q.convert_fx(prepared)(x)) > 25


def test_a_shared_moving_average_follows_all_its_values() -> None:
    observer = q.MovingAverageMinMaxObserver(averaging_constant=0.5)
    observer.sharing = 2
    for _ in range(2):
        observer(wb.tensor([-1.0, 1.0]))
        observer(wb.tensor([-4.0, 0.5]))
    assert (observer.min_val.item(), observer.max_val.item()) == (-4.0, 1.0)
    for _ in range(20):
        observer(wb.tensor([-1.0, 1.0]))
        observer(wb.tensor([-2.0, 0.5]))
    assert observer.min_val.item() == pytest.approx(-2.0, abs=1e-3)
    observer.reset()
    observer(wb.tensor([0.0, 0.25]))
    assert (observer.min_val.item(), observer.max_val.item()) == (0.0, 0.25)


def test_a_value_in_floating_point_that_is_only_reshaped_is_observed_as_its_reader_wants() -> None:
    model, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(64, 5)).eval(), wb.randn(4, 3, 6, 6)

    class Reshaped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.fc = model[0], model[2]

        def forward(self, x: Any) -> Any:
            return self.fc(self.conv(x).reshape(x.shape[0], -1))

    mapping = q.get_default_qconfig_mapping().set_object_type(nn.Conv2d, None)
    prepared = q.prepare_fx(Reshaped().eval(), mapping, (x,))
    prepared(x)
    assert q.sqnr(model(x), q.convert_fx(prepared)(x)) > 25
