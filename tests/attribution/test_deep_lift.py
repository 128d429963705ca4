"""DeepLift by the op: complete wherever a call comes from, exact where that is known, refused by name elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench import nn
from workbench.attribution import ConvergenceWarning, DeepLift, DeepLiftShap, Saliency, explain

F = nn.functional
RANDOM = np.random.default_rng(7)


def draw(*shape: int, seed: int = 0) -> wb.Tensor:
    return wb.from_numpy(np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32))


def seeded(make: Callable[[], Any]) -> Any:
    wb.manual_seed(3)
    return make().eval()


LINEAR = seeded(lambda: nn.Linear(6, 6))
RELU = nn.ReLU().eval()
LSTM = seeded(lambda: nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True))
GRU = seeded(lambda: nn.GRU(4, 5, batch_first=True))
TRANSFORMER = seeded(lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu"))
CNN = seeded(
    lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3),
        nn.SiLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(4, 3), nn.Softmax(1),
    )
)  # fmt: skip


def in_place(x: Any) -> Any:
    hidden = LINEAR(x)
    hidden.relu_()
    hidden += 1
    hidden[:, 0] *= 2
    part = hidden[:, 1:3]
    part.tanh_()
    hidden[:, 5] = hidden[:, 4] * hidden[:, 3]
    return hidden.sum(1)


def written(x: Any) -> Any:
    kept = x.sigmoid()
    shown = kept * kept
    kept.zero_()
    return (shown + kept.cos()).sum(1)


MODELS: dict[str, tuple[Callable[..., Any], tuple[int, ...], Any]] = {
    "functional relu": (lambda x: F.relu(LINEAR(x)).sum(1), (3, 6), None),
    "one ReLU twice": (lambda x: RELU(LINEAR(RELU(LINEAR(x)))).sum(1), (3, 6), None),
    "one Linear twice": (lambda x: LINEAR(wb.tanh(LINEAR(x))), (3, 6), 2),
    "in place": (in_place, (3, 6), None),
    "written over": (written, (3, 6), None),
    "flatten": (lambda x: F.elu(LINEAR(x.sigmoid().flatten(1))), (3, 2, 3), 4),
    "concatenation": (lambda x: wb.cat([x, x.exp() + 1, x[:, :2]], 1).logsumexp(1), (3, 6), None),
    "a fixed size": (lambda x: x.reshape(3, 2, 3).amax(2).prod(1), (3, 6), None),
    "a mask": (lambda x: (x * (x > 0)).sum(1), (3, 6), None),
    "CNN": (CNN, (2, 2, 8, 8), 1),
    "transformer": (lambda x: TRANSFORMER(x).mean(1), (2, 5, 8), 3),
    "transformer, causal": (
        lambda x: TRANSFORMER(x, nn.Transformer.generate_square_subsequent_mask(5), is_causal=True)[:, -1],
        (2, 5, 8),
        3,
    ),
    "LSTM": (lambda x: LSTM(x)[0][:, -1], (2, 6, 4), 1),
    "GRU": (lambda x: GRU(x)[1][0], (2, 6, 4), 1),
    "group norm": (lambda x: F.silu(F.group_norm(x, 2)).sum((1, 2)), (2, 4, 5), None),
    "rms norm": (lambda x: F.glu(F.rms_norm(x, (6,)), 1).sum(1), (2, 6), None),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_attributions_add_up_wherever_a_call_comes_from(name: str) -> None:
    model, shape, target = MODELS[name]
    x, baseline = draw(*shape), draw(*shape, seed=1)
    _, delta = DeepLift(model).attribute(x, baseline, target=target, return_convergence_delta=True)
    assert np.abs(delta.numpy()).max() <= 1e-4


def test_two_inputs_and_what_they_make_together() -> None:
    a, b = wb.tensor([[3.0, 1.0]]), wb.tensor([[2.0, 5.0]])
    found = DeepLift(lambda a, b: (a * b).sum(1)).attribute((a, b), (1.0, 0.0))
    # Δa·(b + b')/2 and Δb·(a + a')/2
    assert [one.tolist() for one in found] == [[[2.0, 0.0]], [[4.0, 5.0]]]
    ahead = DeepLift(lambda a, b: wb.maximum(a, b).sum(1)).attribute((a, b))
    assert [one.tolist() for one in ahead] == [[[2.0, 0.5]], [[1.0, 4.5]]]


def test_the_largest_goes_to_where_it_stands_and_stood() -> None:
    x, baseline = wb.tensor([[[1.0, 5.0, 2.0]], [[1.0, 0.0, 2.0]]]), wb.tensor([[[4.0, 0.0, 0.0]]])
    found = DeepLift(lambda x: F.max_pool1d(x, 3).flatten(1)).attribute(x, baseline, target=0)
    # Grown from 4 to 5 by the second; fallen from 4 to 2 by the first.
    assert found.tolist() == [[[0.0, 1.0, 0.0]], [[-2.0, 0.0, 0.0]]]


@given(st.lists(st.floats(-3, 3, width=32), min_size=8, max_size=8))
@settings(max_examples=60)
def test_completeness(values: list[float]) -> None:
    x, b = wb.tensor([values[:4]], dtype=wb.float64), wb.tensor([values[4:]], dtype=wb.float64)
    model = lambda x: wb.relu(x[:, 0] * x[:, 1] - x[:, 2]) * x[:, 3].sigmoid() + x.softmax(1)[:, 1]
    found, delta = DeepLift(model).attribute(x, b, return_convergence_delta=True)
    np.testing.assert_allclose(found.numpy().sum(), (model(x) - model(b)).item(), atol=1e-9)
    np.testing.assert_allclose(delta.numpy(), 0, atol=1e-9)


@given(st.lists(st.floats(-3, 3), min_size=6, max_size=6))
def test_a_linear_model_gives_its_weights(values: list[float]) -> None:
    x = wb.tensor([values], dtype=wb.float64)
    weight = wb.from_numpy(RANDOM.normal(size=(2, 6)))
    found = DeepLift(lambda x: F.linear(x, weight)).attribute(x, 0.5, target=1)
    np.testing.assert_allclose(found.numpy()[0], (x.numpy()[0] - 0.5) * weight.numpy()[1], atol=1e-12)
    slopes = DeepLift(lambda x: F.linear(x, weight), multiply_by_inputs=False).attribute(x, target=1)
    np.testing.assert_allclose(slopes.numpy()[0], weight.numpy()[1], atol=1e-12)


def test_names_go_through_and_dims_are_summed_by_name() -> None:
    x = wb.from_numpy(draw(2, 2, 8, 8).numpy(), names=("N", "C", "H", "W"))
    whole, summed = DeepLift(CNN).attribute(x, target=0), DeepLift(CNN).attribute(x, target=0, over="C")
    assert (whole.names, summed.names) == (("N", "C", "H", "W"), ("N", "H", "W"))
    np.testing.assert_allclose(summed.numpy(), whole.numpy().sum(1), atol=1e-6)


def test_what_is_made_of_the_multipliers() -> None:
    x = wb.tensor([[2.0, -1.0]])
    model = lambda x: wb.relu(x).sum(1)
    by: list[Callable[..., Any]] = [
        lambda m: tuple(2 * one for one in m),
        lambda m, inputs: tuple(one * value for one, value in zip(m, inputs, strict=True)),
        lambda m, inputs, baselines: baselines,
    ]
    found = [DeepLift(model).attribute(x, 1.0, custom_attribution_func=one).tolist() for one in by]
    assert found == [[[2.0, 1.0]], [[2.0, -0.5]], [[1.0, 1.0]]]


def test_many_baselines_are_averaged() -> None:
    x, baselines = draw(3, 2, 8, 8), draw(4, 2, 8, 8, seed=2)
    method = DeepLiftShap(CNN)
    found, delta = method.attribute(x, baselines, target=[0, 1, 2], return_convergence_delta=True)
    each = [DeepLift(CNN).attribute(x, baselines[i : i + 1], target=[0, 1, 2]).numpy() for i in range(4)]
    np.testing.assert_allclose(found.numpy(), np.mean(each, axis=0), atol=1e-6)
    assert delta.shape == (12,) and np.abs(delta.numpy()).max() < 1e-5


def test_further_arguments_and_batches_go_along() -> None:
    x, scale = draw(5, 6), draw(5, 1, seed=3)
    model = lambda x, scale, power: (wb.relu(x) * scale) ** power
    at_once = DeepLift(model).attribute(x, target=1, additional_forward_args=(scale, 2))
    one_by_one = [
        DeepLift(model)
        .attribute(x[i : i + 1], target=1, additional_forward_args=(scale[i : i + 1], 2))
        .numpy()
        for i in range(5)
    ]
    np.testing.assert_allclose(at_once.numpy(), np.concatenate(one_by_one), rtol=1e-6)


def test_the_same_is_drawn_for_both() -> None:
    x = draw(4, 6)
    model = lambda x: (F.dropout(x, 0.5, training=True) * wb.rand(6)).sum(1)
    wb.manual_seed(1)
    found, delta = DeepLift(model).attribute(x, return_convergence_delta=True)
    assert np.abs(delta.numpy()).max() < 1e-5 and (found.numpy() == 0).any()


def test_parameters_and_inputs_are_left_alone() -> None:
    x = draw(2, 2, 8, 8)
    DeepLift(CNN).attribute(x, target=0)
    assert all(one.grad is None and one.requires_grad for one in CNN.parameters())
    assert (x.grad, x.requires_grad) == (None, False)


def test_explain_knows_the_method() -> None:
    result = explain(CNN, draw(2, 2, 8, 8), method="deep_lift", baselines=0.1)
    assert result.method == "DeepLift" and np.abs(result.delta.numpy()).max() < 1e-5


class Own(wb.autograd.Function):
    """A function with a gradient of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Square."""
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        """Pass."""
        return gradient


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no rule": (
        lambda x: x.sort(1)[0][:, 0],
        r"no rule for sort \(test_deep_lift.py:\d+\): which value comes out",
    ),
    "own gradient": (lambda x: Own.apply(x).sum(1), r"OwnBackward is a function with a gradient of its own"),
    "numbers decide": (
        lambda x: x.relu().sum(1) if float(x.sum()) > 0 else x.sum(1),
        r"with the baseline the model calls sum \(test_deep_lift.py:\d+\) where with the input it called relu",
    ),
    "stops": (
        lambda x: x.sum(1).relu() if float(x.sum()) > 0 else x.sum(1),
        r"with the baseline the model stops where with the input it called relu",
    ),
    "other places": (
        lambda x: x[:, int(x.sum().item() > 0)].exp(),
        r"called index with other parameters or sizes",
    ),
    "places made from it": (
        lambda x: wb.gather(x, 1, x.argmax(1, keepdim=True)).sum(1),
        r"gather \(test_deep_lift.py:\d+\) meets other places or weights with the baseline",
    ),
    "unconnected": (lambda x: x.detach().sum(1), r"does not depend on the inputs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_answer_is_refused_by_name(name: str) -> None:
    model, words = REFUSED[name]
    with pytest.raises(wb.AutogradError, match=words):
        DeepLift(model).attribute(wb.tensor([[1.0, 3.0, 2.0]]), wb.tensor([[0.0, -9.0, -8.0]]))


def test_what_leaves_the_tape_shows_in_the_delta() -> None:
    with pytest.warns(ConvergenceWarning, match="do not add up"):
        DeepLift(lambda x: (x + x.detach() ** 2).sum(1)).attribute(wb.tensor([[1.0, 2.0]]))


@pytest.mark.parametrize("dtype", [wb.float16, wb.float64])
def test_other_types(dtype: Any) -> None:
    x = draw(2, 6).to(dtype)
    found = DeepLift(lambda x: wb.relu(x * 2).sum(1)).attribute(x)
    assert found.dtype is dtype
    np.testing.assert_allclose(found.numpy(), np.maximum(x.numpy() * 2, 0), rtol=1e-3)


def pairs_of(x: Any) -> Any:
    return wb.complex(x[:, :3], x[:, 3:])


TURN = wb.complex(draw(3, 3), draw(3, 3, seed=1))

COMPLEX: dict[str, Any] = {
    "absolute values": lambda x: pairs_of(x).abs().sum(1),
    "a function": lambda x: (pairs_of(x) * 0.3).tanh().real.sum(1),
    "of real numbers": lambda x: (x * wb.tensor(0.3 + 0.5j)).exp().imag.sum(1),
    "products": lambda x: (pairs_of(x) * pairs_of(x).flip(1)).imag.sum(1),
    "by the conjugate": lambda x: (pairs_of(x) * pairs_of(x).conj()).real.sum(1),
    "quotients": lambda x: (pairs_of(x) / (pairs_of(x).flip(1) + 3)).imag.sum(1),
    "matrices": lambda x: (pairs_of(x) @ TURN).angle().sum(1),
    "contractions": lambda x: wb.einsum("ni,ni->n", pairs_of(x) @ TURN, pairs_of(x)).imag,
    "frequencies": lambda x: wb.fft.rfft(x).abs().pow(2).sum(1),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_on_the_way_add_up(name: str) -> None:
    x, b, model = draw(2, 6).double(), draw(2, 6, seed=2).double(), COMPLEX[name]
    found, delta = DeepLift(model).attribute(x, b, return_convergence_delta=True)
    np.testing.assert_allclose(found.sum(1).numpy(), (model(x) - model(b)).numpy(), rtol=1e-5, atol=1e-6)
    assert np.abs(delta.numpy()).max() < 1e-5
    # Where nothing differs the slope stands for the quotient.
    slopes = DeepLift(model, multiply_by_inputs=False).attribute(x, x)
    expected = Saliency(model).attribute(x, abs=False)
    np.testing.assert_allclose(slopes.numpy(), expected.numpy(), rtol=1e-5, atol=1e-7)
