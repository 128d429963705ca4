"""Channels that are large in one layer and small in the next: equalization and smoothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.nn import functional as F

Array = np.ndarray[Any, Any]


class _Plain(nn.Module):
    """Functions between modules, and a mean in place of a pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 6, 1), nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        x = F.leaky_relu(self.b(F.relu(self.a(x))), 0.1)
        return self.c(x.mean((2, 3)))


class _Residual(nn.Module):
    """What a sum reads, too, keeps its channels."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 1), nn.Conv2d(4, 2, 1)

    def forward(self, x: Any) -> Any:
        x = F.relu(self.a(x))
        return self.c(F.relu(self.b(x)) + x)


def _normalised() -> Any:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 8, 3, groups=8), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 12, 1, groups=4), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(12 * 36, 3),
    )  # fmt: skip
    for _ in range(3):
        model(wb.randn(4, 3, 16, 16) * 3 + 1)
    return model


def _rows() -> Any:
    return nn.Sequential(nn.Linear(6, 8, bias=False), nn.ReLU(), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))


CASES: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "normalised": (_normalised, (2, 3, 16, 16)),
    "plain": (_Plain, (2, 3, 7, 5)),
    "rows": (_rows, (3, 6)),
    "rows of sequences": (_rows, (2, 3, 6)),
    "one dim": (
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.ReLU(), nn.AvgPool1d(2), nn.Conv1d(4, 3, 1)),
        (2, 2, 12),
    ),
    "three dims": (lambda: nn.Sequential(nn.Conv3d(2, 4, 1), nn.ReLU(), nn.Conv3d(4, 3, 1)), (1, 2, 3, 3, 3)),
}


def _uneven(model: Any) -> Any:
    """Make rows of the weights differ by a factor of thousands, and let zero be the weight of some."""
    random = np.random.default_rng(0)
    with wb.no_grad():
        for _, parameter in model.named_parameters():
            factor = 10 ** random.uniform(-1.5, 1.5, (len(parameter), *[1] * (parameter.ndim - 1)))
            parameter.mul_(wb.from_numpy(factor.astype(np.float32)))
    return model.eval()


@pytest.mark.parametrize("name", CASES)
def test_an_equalized_model_is_the_same_model(name: str) -> None:
    wb.manual_seed(0)
    make, shape = CASES[name]
    model, x = _uneven(make()), wb.randn(*shape)
    before = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    equal = q.equalize(model, x)
    with wb.no_grad():
        y = wb.randn(*shape)
        assert q.sqnr(model(y), equal(y)) > 100
    assert all(np.array_equal(value.numpy(), before[key]) for key, value in model.state_dict().items())
    assert any(not np.array_equal(value.numpy(), before[key]) for key, value in equal.state_dict().items())


def test_ranges_are_those_of_the_next_layer() -> None:
    wb.manual_seed(0)
    model = _uneven(_rows())
    equal = q.equalize(model, wb.randn(3, 6))
    for first, second in ((0, 2), (2, 4)):
        rows = np.abs(equal[first].weight.detach().numpy()).max(1)
        columns = np.abs(equal[second].weight.detach().numpy()).max(0)
        np.testing.assert_allclose(rows, columns, rtol=5e-3)


def test_channels_without_a_range_stay() -> None:
    model = _rows().eval()
    with wb.no_grad():
        model[0].weight[2] = 0.0
        model[2].weight[:, 5] = 0.0
    equal = q.equalize(model, wb.randn(3, 6))
    for one in (0, 2, 4):
        assert np.isfinite(equal[one].weight.detach().numpy()).all()
    np.testing.assert_array_equal(equal[0].weight[5].detach().numpy(), model[0].weight[5].detach().numpy())


def test_what_a_sum_reads_is_left() -> None:
    wb.manual_seed(0)
    model, x = _uneven(_Residual()), wb.randn(1, 3, 4, 4)
    with pytest.raises(wb.QuantizationError, match="no two layers follow one another"):
        q.equalize(model, x)
    with pytest.raises(wb.QuantizationError, match="a ReLU6 or a sigmoid lets no factor through"):
        q.equalize(nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU6(), nn.Conv2d(4, 2, 1)), x)
    shared = nn.Linear(3, 3)
    with pytest.raises(
        wb.QuantizationError, match="no two layers"
    ):  # one weight would be divided and multiplied
        q.equalize(nn.Sequential(shared, nn.ReLU(), shared), wb.rand(2, 3))
    with pytest.raises(
        wb.QuantizationError, match="no two layers"
    ):  # the channels are not what the next one reads
        q.equalize(nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(), nn.Linear(4, 2)), x)
    with pytest.raises(wb.QuantizationError, match="give it an example of its inputs"):
        q.equalize(model)


def test_one_scale_a_tensor_serves_an_equalized_model() -> None:
    """The reason for it: channels of a weight that differ by a thousand lose theirs under one scale."""
    wb.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
    x = wb.randn(256, 16)
    factor = wb.from_numpy(np.geomspace(0.01, 10, 32).astype(np.float32))
    with wb.no_grad():
        model[0].weight.mul_(factor[:, None])
        model[0].bias.mul_(factor)
        model[2].weight.div_(factor)

    def rounded(one: Any) -> Any:
        made = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
        made.load_state_dict(one.state_dict())
        with wb.no_grad():
            for layer in (made[0], made[2]):
                scale = float(layer.weight.abs().max()) / 127
                layer.weight.copy_(wb.fake_quantize_per_tensor_affine(layer.weight, scale, 0, -128, 127))
            return made(x)

    with wb.no_grad():
        y = model(x)
    assert q.sqnr(y, rounded(model)) < 15
    assert q.sqnr(y, rounded(q.equalize(model, x))) > 30


def _attention() -> Any:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(16), nn.RMSNorm(16)
            self.q, self.k, self.up, self.down = (nn.Linear(16, 16) for _ in range(4))

        def forward(self, x: Any) -> Any:
            inner = self.norm1(x)
            x = x + (self.q(inner) * self.k(inner))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    wb.manual_seed(0)
    block = Block().eval()
    with wb.no_grad():
        block.norm1.weight[3] = 40.0
        block.norm2.weight[7] = -25.0
    return block


def test_a_smoothed_model_is_the_same_with_fewer_outliers() -> None:
    model, x = _attention(), wb.randn(4, 9, 16)
    even = q.smooth(model, [x, wb.randn(2, 5, 16)])
    with wb.no_grad():
        y = wb.randn(3, 11, 16)
        assert q.sqnr(model(y), even(y)) > 100
        for norm in ("norm1", "norm2"):
            before, after = (np.abs(getattr(one, norm)(x).numpy()).max((0, 1)) for one in (model, even))
            assert after.max() / np.median(after) < 0.4 * before.max() / np.median(before)


def test_smoothing_takes_the_part_it_is_told() -> None:
    """At 1 all channels have the range 1; at 0 nothing is known of the activations."""
    model, x = nn.Sequential(nn.LayerNorm(6), nn.Linear(6, 4)).eval(), wb.randn(50, 6) * 3
    with wb.no_grad():
        whole = q.smooth(model, [x], alpha=1.0)
        np.testing.assert_allclose(np.abs(whole[0](x).numpy()).max(0), 1, rtol=1e-5)
        none = q.smooth(model, [x], alpha=0.0)
        np.testing.assert_allclose(np.abs(none[1].weight.detach().numpy()).max(0), 1, rtol=1e-5)


class _Behind(nn.Module):
    """A block that normalises behind its sums, as BERT does."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.wide, self.narrow = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        x = self.norm1(x)
        return self.norm2(x + self.narrow(F.gelu(self.wide(x))))


def test_a_block_that_normalises_behind_its_sums_divides_what_layers_take() -> None:
    wb.manual_seed(0)
    model, x = _Behind().eval(), wb.randn(8, 20, 16)
    with wb.no_grad():
        model.norm1.weight[3], model.norm1.weight[9] = 60.0, -45.0
    with pytest.raises(
        wb.QuantizationError, match="divide_inputs=True has linear layers divide what they take"
    ):
        q.smooth(model, [x])
    even = q.smooth(model, [x], alpha=0.8, divide_inputs=True)
    assert [type(one).__name__ for one in (even.wide, even.narrow)] == ["Divided", "Divided"]
    y = wb.randn(3, 11, 16)
    with wb.no_grad():
        exact = model(y)
        assert q.sqnr(exact, even(y)) > 100

    def loses(one: Any) -> float:
        prepared = q.prepare_fx(
            one, q.QConfigMapping().set_object_type(nn.Linear, q.get_default_qconfig("onednn")), (x,)
        )
        with wb.no_grad():
            prepared(x)
            return q.sqnr(exact, q.convert_fx(prepared)(y))

    assert loses(even) > loses(model) + 1


@pytest.mark.parametrize("batch_first", [True, False])
def test_attention_of_an_encoder_is_smoothed(batch_first: bool) -> None:
    wb.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=batch_first, norm_first=True)
    model, x = nn.TransformerEncoder(layer, 1).eval(), wb.randn(8, 9, 16)
    first = model.layers[0]
    with wb.no_grad():
        first.norm1.weight[3] = 40.0
    even = q.smooth(model, [x])
    changed = even.layers[0].self_attn.in_proj_weight.detach() / first.self_attn.in_proj_weight.detach()
    # All three projections read what was divided, channel by channel.
    scale = (first.norm1.weight / even.layers[0].norm1.weight).detach().numpy()
    np.testing.assert_allclose(changed.numpy(), np.broadcast_to(scale, (48, 16)), rtol=1e-4)
    assert scale[3] > 4 * np.median(scale)
    with wb.no_grad():
        assert q.sqnr(model(x), even(x)) > 100


def test_a_weight_that_is_read_twice_is_left() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.other = nn.LayerNorm(8), nn.Linear(8, 8)
            self.weight = nn.Parameter(wb.randn(8, 8))

        def forward(self, x: Any) -> Any:
            y = self.norm(x)
            return F.linear(y, self.weight[:5]) @ F.linear(x, self.weight[3:]).transpose(0, 1)

    with pytest.raises(wb.QuantizationError, match="there is nothing to smooth"):
        q.smooth(Twice().eval(), [wb.randn(4, 8)])


def test_layers_of_attention_divide_what_they_take() -> None:
    wb.manual_seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 1).eval()
    x = wb.randn(8, 9, 16)
    x[..., 3] *= 40
    even = q.smooth(model, [x], divide_inputs=True)
    divided = {name for name, one in even.named_modules() if type(one).__name__ == "Divided"}
    names = (
        "linear1",
        "linear2",
        *(f"self_attn.{one}" for one in ("linear_Q", "linear_K", "linear_V", "out_proj")),
    )
    assert divided == {f"layers.0.{one}" for one in names}
    assert type(model.layers[0].self_attn) is nn.MultiheadAttention
    with wb.no_grad():
        assert q.sqnr(model(x), even(x)) > 90
    mapping = q.QConfigMapping().set_object_type(nn.Linear, q.get_default_qconfig("onednn"))

    def loses(one: Any) -> float:
        prepared = q.prepare_fx(one, mapping, (x,))
        prepared(x)
        return q.sqnr(model(x), q.convert_fx(prepared)(x))

    assert loses(even) > loses(model) + 1


def test_what_cannot_be_smoothed_is_refused() -> None:
    x = wb.rand(2, 4)
    model = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 2))
    with pytest.raises(wb.QuantizationError, match=r"alpha=1.5 says which part"):
        q.smooth(model, [x], alpha=1.5)
    with pytest.raises(wb.QuantizationError, match="the data gave no batch"):
        q.smooth(model, [])
    with pytest.raises(wb.QuantizationError, match="no layer normalisation is read by linear layers alone"):
        q.smooth(nn.Sequential(nn.Linear(4, 2)), [x])
