"""What a summary says of a model, and that the model stays as it is."""

from __future__ import annotations

import re

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.base.errors import DimensionError
from workbench.models import DigitsNet


def test_dims_parameters_operations_and_memory() -> None:
    found = wb.summary(DigitsNet(), N=2, C=1, H=28, W=28)
    conv = found["conv2"]
    assert conv.outputs[0][0].names == ("N", "C", "H", "W")
    assert conv.outputs[0][0].sizes == (2, 64, 14, 14)
    assert conv.parameters == conv.trainable == 64 * 32 * 9 + 64
    assert conv.flops == pytest.approx(2 * 2 * 64 * 14 * 14 * 32 * 9, rel=0.01)
    assert conv.memory == 2 * 64 * 14 * 14 * 4
    assert found.total.parameters == sum(one.parameters for one in found if one.depth == 1)
    assert found.total.flops == sum(one.flops for one in found if one.depth == 1)
    assert "421,834 parameters" in repr(found)


def test_the_model_stays_as_it_is() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout())
    model[1].eval()
    before = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    wb.summary(model, N=2, C=3)
    assert [one.training for one in model] == [True, False, True]
    for key, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])
    with pytest.raises(DimensionError):
        wb.summary(model, N=2, C=5)
    assert [one.training for one in model] == [True, False, True]
    assert model(wb.randn(2, 3)).requires_grad


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.unused = nn.Linear(3, 3)

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        x = self.layer(self.layer(x))
        return x if x.sum().item() < 1 else -x  # looks at numbers: no rule can know


def test_calls_are_counted_and_a_model_may_look_at_numbers() -> None:
    found = wb.summary(Shared(), N=2, C=3)
    assert found["layer"].calls == 2
    assert found["unused"].calls == 0 and found["unused"].outputs == ()
    model = Shared()
    model.layer.weight.requires_grad_(False)
    assert wb.summary(model, wb.zeros(2, 3))["layer"].trainable == 3
    assert "9 of them frozen" in repr(wb.summary(model, wb.zeros(2, 3)))


def test_what_is_not_called_says_so_but_a_list_whose_modules_are() -> None:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 3)])
            self.unused = nn.Linear(3, 3)

        def forward(self, x: wb.Tensor) -> wb.Tensor:
            return self.layers[0](x)

    found = wb.summary(Listed(), N=2, C=3)
    assert (found["layers"].ran, found["layers.0"].ran, found["unused"].ran) == (True, True, False)
    (line,) = (line for line in repr(found).splitlines() if "not called" in line)
    assert line.strip().startswith("unused: Linear")
    assert found._repr_mimebundle_()["text/html"].count("not called") == 1


def test_html_is_escaped_and_bounded() -> None:
    evil = type("<script>", (nn.Sequential,), {})
    html = wb.summary(evil(*[nn.ReLU() for _ in range(600)]), N=1, C=3)._repr_mimebundle_()["text/html"]
    assert "<script>" not in html and "&lt;script&gt;" in html
    assert "201 more modules" in html
    assert len(html) < 500_000


def test_html_has_a_chip_for_every_dim_of_inputs_and_outputs() -> None:
    html = wb.summary(nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten()), N=2, C=1, H=8, W=9)._repr_mimebundle_()
    told = [
        re.sub(r"<[^>]*>|&nbsp;", " ", row).split() for row in re.split(r"<b>[01]</b>", html["text/html"])
    ]
    assert told[0][:10] == ["Sequential", "of", "f32", "N", "2", "C", "1", "H", "8", "W"]
    assert told[1][:9] == ["Conv2d", "N", "2", "C", "4", "H", "6", "W", "7"]
    assert told[2][:3] == ["Flatten", "N", "2"] and "168" in told[2]


def test_refusals() -> None:
    with pytest.raises(TypeError, match="takes the dims of one input by name"):
        wb.summary(nn.ReLU())
    with pytest.raises(TypeError, match="both were given"):
        wb.summary(nn.ReLU(), wb.zeros(2), N=2)
    with pytest.raises(ValueError, match="N must be a whole number, at least 0, got -1"):
        wb.summary(nn.ReLU(), N=-1)
    with pytest.raises(KeyError, match="no module at 'x'"):
        wb.summary(nn.ReLU(), N=1)["x"]


def test_views_take_no_memory() -> None:
    found = wb.summary(nn.Flatten(), N=2, C=3, H=4)
    assert found.total.memory == 0


class Gathers(nn.Module):
    """Keeps what it has seen, in ways that a summary must not leave behind."""

    total: wb.Tensor
    mean: wb.Tensor
    count: wb.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", wb.zeros(3))
        self.register_buffer("mean", wb.zeros(3))
        self.register_buffer("count", wb.tensor(0))
        self.scale = nn.Parameter(wb.ones(3))
        self.last: wb.Tensor | None = None

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        self.count += 1
        self.total += x.sum(0)
        self.mean = self.mean * 0.9 + x.mean(0) + 1
        self.last = x
        return x * self.scale


class Looks(Gathers):
    def forward(self, x: wb.Tensor) -> wb.Tensor:
        x = super().forward(x)
        return x if x.sum().item() >= 0 else -x


@pytest.mark.parametrize("make", [Gathers, Looks])
def test_what_a_model_gathers_while_it_is_run_is_not_kept(make: type[Gathers]) -> None:
    model = nn.Sequential(make())
    inner = model[0]
    before = {**inner.__dict__}
    wb.summary(model, N=2, C=3)
    assert inner.__dict__ == before
    assert (inner.total.tolist(), inner.mean.tolist(), inner.count.item()) == ([0, 0, 0], [0, 0, 0], 0)
    assert inner.total.names == (None,)
    model(wb.ones(2, 3))
    assert (inner.total.tolist(), inner.count.item()) == ([2, 2, 2], 1)


def test_lazy_layers_know_their_sizes_from_then_on() -> None:
    model = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d())
    wb.summary(model, N=2, C=3)
    assert repr(model[0]) == "Linear(in_features=3, out_features=4, bias=True)"
    assert model(wb.randn(2, 3)).shape == (2, 4)
    assert model[1].running_mean.shape == (4,)
    assert [module.training for module in model.modules()] == [True, True, True]


def test_the_input_is_of_the_type_of_the_parameters_unless_it_is_told() -> None:
    assert "input float64[N:2, C:3]" in repr(wb.summary(nn.Linear(3, 4).double(), N=2, C=3))
    words = nn.Sequential(nn.Embedding(5, 3))
    assert "input int64[N:2, T:3]" in repr(wb.summary(words, N=2, T=3, dtype=wb.int64))
    with pytest.raises(wb.DTypeError) as caught:
        wb.summary(words, N=2, T=3)
    assert "summary gave an input of type float32: it takes another as dtype=" in caught.value.__notes__[-1]


def test_ops_with_parameters_of_any_name_are_counted() -> None:
    assert wb.summary(nn.ReflectionPad2d(1), N=1, C=1, H=4, W=4).total.outputs[0][0].sizes == (1, 1, 6, 6)
