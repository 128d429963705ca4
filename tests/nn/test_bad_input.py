"""What people give by mistake: refused in words that say what was given, where, and what would work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.nn import Module

nn: Any = wb.nn


@pytest.mark.parametrize(
    "layer",
    [
        nn.Linear(2, 2), nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1), nn.LayerNorm(2), nn.Embedding(3, 2), nn.ReLU(),
        nn.Dropout(), nn.MaxPool2d(1), nn.LSTM(2, 2), nn.GRUCell(2, 2), nn.Softmax(0), nn.Flatten(),
    ],
    ids=lambda layer: type(layer).__name__,
)  # fmt: skip
@pytest.mark.parametrize("given", [np.zeros((1, 1, 2, 2), np.float32), [1.0, 2.0], None, 3.0, "x"], ids=type)
def test_what_is_no_tensor_is_refused_with_what_makes_one(layer: Any, given: Any) -> None:
    with pytest.raises(TypeError, match=r"wb\.tensor\(\.\.\.\) makes one") as caught:
        nn.Sequential(layer)(given)
    assert type(given).__name__ in str(caught.value)
    assert caught.value.__notes__ == [f"in module 0 ({type(layer).__name__}) of Sequential"]


def test_functions_refuse_what_is_no_tensor_too() -> None:
    with pytest.raises(TypeError, match=r"relu\(\): argument 1 must be Tensor, not float"):
        nn.functional.relu(3.0)
    with pytest.raises(TypeError, match=r"linear\(\): argument 1 must be Tensor, not ndarray"):
        nn.functional.linear(np.ones((1, 2)), wb.ones(2, 2))
    assert (wb.ones(1) + np.ones(1, np.float32)).tolist() == [2]  # beside a tensor an array is fine


def test_an_error_of_any_kind_says_in_which_module_it_arose() -> None:
    class Fails(Module):
        def forward(self, x: wb.Tensor) -> wb.Tensor:
            raise KeyError("missing")

    with pytest.raises(KeyError) as caught:
        nn.Sequential(nn.ReLU(), nn.Sequential(Fails()))(wb.zeros(1))
    assert caught.value.__notes__ == ["in module 1.0 (Fails) of Sequential"]
    own = nn.Sequential(nn.Linear(1, 1))
    own.register_forward_hook(lambda module, inputs, output: output.nothing)
    with pytest.raises(AttributeError) as missing:
        own(wb.zeros(1))
    assert missing.value.name == "nothing"  # an error of somebody else's stays as it is


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: nn.Conv2d(1, 1, 2.5),
            ValueError,
            "kernel_size is a whole number or a pair of them, got 2.5",
        ),
        (lambda: nn.BatchNorm2d(-1), ValueError, "num_features must be a whole number, at least 0, got -1"),
        (
            lambda: nn.InstanceNorm1d(-1),
            ValueError,
            "num_features must be a whole number, at least 0, got -1",
        ),
        (
            lambda: nn.LayerNorm(2.5),
            ValueError,
            "normalized_shape must be a whole number, at least 0, got 2.5",
        ),
        (lambda: nn.Embedding(3, 2, "a"), TypeError, "padding_idx is the number of a row, or None, got 'a'"),
        (lambda: nn.Dropout(None), TypeError, "dropout probability is a number between 0 and 1, got None"),
        (
            lambda: nn.MultiheadAttention(4, 2, -1),
            ValueError,
            "dropout probability has to be between 0 and 1",
        ),
        (lambda: nn.MultiheadAttention(4.0, 2), TypeError, "embed_dim is a whole number, got 4.0"),
        (lambda: nn.GRUCell(-1, 2), ValueError, "input_size must be a whole number, at least 0, got -1"),
        (
            lambda: nn.Bilinear("a", 1, 1),
            ValueError,
            "in1_features must be a whole number, at least 0, got 'a'",
        ),
    ],
)
def test_settings_are_refused_when_a_layer_is_made(
    make: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("layer", "error", "words"),
    [
        (nn.Conv2d(1, 1, 3, 0), ValueError, r"stride \[0, 0\] and dilation \[1, 1\] must be at least 1"),
        (nn.Conv2d(1, 1, 3, 1, -1), ValueError, r"padding \[-1, -1\] at least 0"),
        (nn.AdaptiveAvgPool2d("a"), wb.DimensionError, "output_size must be 2 numbers, got 'a'"),
        (nn.AdaptiveMaxPool2d(2.5), wb.DimensionError, "output_size must be 2 numbers, got 2.5"),
        (
            nn.Upsample(scale_factor=float("nan")),
            ValueError,
            "scale_factor must be above 0 and finite, got nan",
        ),
        (nn.LPPool2d(0, 2), ValueError, "norm_type is the power of a mean, which is not 0"),
        (nn.RReLU(0.5, 0.1), ValueError, r"slopes are drawn from \[lower, upper\]"),
        (nn.Softmax(1.5), TypeError, "a dim is a whole number or a name, got 1.5"),
        (nn.GLU(1.5), TypeError, "a dim is a whole number or a name, got 1.5"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else None,
)
def test_settings_that_cannot_be_used_are_refused_where_they_are(
    layer: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        layer(wb.zeros(1, 1, 4, 4))
    assert caught.value.__notes__ == [f"in module {type(layer).__name__}"]


def test_sizes_may_be_whole_numbers_of_numpy() -> None:
    assert nn.Linear(np.int64(2), np.int32(3))(wb.zeros(1, 2)).shape == (1, 3)
    layer = nn.Conv2d(np.int64(1), 2, np.int64(3), stride=(np.int64(1), 2))
    assert layer.stride == (1, 2)
    assert layer(wb.zeros(1, 1, 5, 5)).shape == (1, 2, 3, 2)


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(1, 2, 3), nn.ConvTranspose2d(1, 2, 3), nn.BatchNorm2d(1), nn.GroupNorm(1, 1),
        nn.InstanceNorm2d(1, affine=True), nn.LayerNorm(4), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1),
        nn.Upsample(scale_factor=2), nn.PReLU(), nn.Dropout(), nn.LocalResponseNorm(2), nn.Flatten(),
        nn.ReflectionPad2d(1), nn.Linear(4, 2),
    ],
    ids=lambda layer: type(layer).__name__,
)  # fmt: skip
def test_a_batch_of_nothing_goes_forwards_and_backwards(layer: Any) -> None:
    x: Any = wb.zeros(0, 1, 4, 4, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert y.shape[0] == 0
    assert x.grad.shape == x.shape
    assert not any(one.grad.any() for one in layer.parameters())


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("settings", [{}, {"bidirectional": True}, {"num_layers": 2}])
def test_sequences_of_a_batch_of_nothing(kind: Any, settings: Any) -> None:
    layer = kind(2, 3, **settings)
    output, _ = layer(wb.zeros(4, 0, 2, requires_grad=True))
    output.sum().backward()
    assert output.shape[:2] == (4, 0)
    assert not layer.weight_hh_l0.grad.any()


def test_a_lazy_layer_that_refuses_its_first_input_knows_nothing_yet() -> None:
    layer = nn.LazyConv2d(2, 3)
    with pytest.raises(wb.DimensionError) as caught:
        nn.Sequential(layer)(wb.zeros(N=1, H=8, W=8, C=3))
    assert caught.value.__notes__[-1].startswith("in module 0 (")
    assert type(layer) is nn.LazyConv2d
    assert layer.has_uninitialized_params()
    assert layer.in_channels == 0
    parameter = layer.weight
    assert layer(wb.zeros(N=1, C=3, H=8, W=8)).shape == (1, 2, 6, 6)
    assert type(layer) is nn.Conv2d
    assert layer.weight is parameter


def test_a_state_of_a_model_is_assigned_as_it_is() -> None:
    one, other = nn.Linear(2, 3), nn.Linear(2, 3)
    state = one.state_dict()
    other.load_state_dict(state, assign=True)
    assert isinstance(other.weight, nn.Parameter)
    assert other.weight.requires_grad
    assert other.weight.dim_labels == ("out_features", "in_features")
    with wb.no_grad():
        one.weight.fill_(7.0)
    assert other.weight[0, 0].item() == 7  # the memory is shared, as with PyTorch
    with pytest.raises(TypeError, match="keys of a state_dict are dotted paths, got 1"):
        other.load_state_dict({1: wb.ones(1)})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda p: nn.utils.clip_grad_norm_(p, -1.0), ValueError, "max_norm must be 0 or more, got -1.0"),
        (
            lambda p: nn.utils.clip_grad_norm_(p, float("nan")),
            ValueError,
            "max_norm must be 0 or more, got nan",
        ),
        (lambda p: nn.utils.clip_grad_value_(p, -1.0), ValueError, "clip_value must be 0 or more, got -1.0"),
        (lambda p: nn.init.normal_(p, std=-1), ValueError, "std is a deviation, which is 0 or more, got -1"),
        (
            lambda p: nn.init.trunc_normal_(p, std=0),
            ValueError,
            "std is a deviation, which is above 0, got 0",
        ),
        (lambda p: nn.init.uniform_(p, 1, 0), ValueError, "the bounds are a <= b, got a=1, b=0"),
        (lambda p: nn.init.sparse_(p, 2.0), ValueError, "between 0 and 1, got 2.0"),
        (lambda p: nn.init.dirac_(p.unsqueeze(2).detach(), 0), ValueError, "groups must be a whole number"),
        (lambda p: nn.init.zeros_(np.ones(2)), TypeError, "what is filled is a tensor, got ndarray"),
        (lambda p: wb.summary(3, N=1), TypeError, "summary takes a Module, got int"),
        (lambda p: wb.summary(nn.ReLU(), np.ones(2)), TypeError, "summary takes tensors, got ndarray"),
    ],
)
def test_what_is_done_to_parameters_refuses_and_changes_nothing(
    call: Callable[[Any], Any], error: type[Exception], words: str
) -> None:
    p = wb.ones(2, 2, requires_grad=True)
    p.grad = wb.full((2, 2), 3.0)
    with pytest.raises(error, match=words):
        call(p)
    assert p.tolist() == [[1, 1], [1, 1]]
    assert p.grad is not None
    assert p.grad.tolist() == [[3, 3], [3, 3]]


ROW, STEPS, IMAGE = (2, 4), (5, 2, 4), (2, 4, 5, 5)
PRECISE: list[tuple[Any, tuple[int, ...], int]] = [
    (nn.Linear(4, 3), ROW, 1), (nn.Bilinear(4, 4, 3), ROW, 2), (nn.Conv1d(4, 3, 1), (2, 4, 5), 1),
    (nn.Conv2d(4, 3, 1), IMAGE, 1), (nn.Conv3d(4, 3, 1), (2, 4, 5, 5, 5), 1),
    (nn.ConvTranspose2d(4, 3, 1), IMAGE, 1), (nn.BatchNorm2d(4), IMAGE, 1),
    (nn.BatchNorm2d(4).eval(), IMAGE, 1), (nn.InstanceNorm2d(4, affine=True), IMAGE, 1),
    (nn.LayerNorm(4), ROW, 1), (nn.RMSNorm(4), ROW, 1), (nn.GroupNorm(2, 4), IMAGE, 1),
    (nn.RNN(4, 3), STEPS, 1), (nn.LSTM(4, 3), STEPS, 1), (nn.GRU(4, 3), STEPS, 1), (nn.LSTMCell(4, 3), ROW, 1),
    (nn.GRUCell(4, 3), ROW, 1), (nn.RNNCell(4, 3), ROW, 1), (nn.MultiheadAttention(4, 2), STEPS, 3),
    (nn.TransformerEncoderLayer(4, 2, 8), STEPS, 1), (nn.PReLU(), ROW, 1),
]  # fmt: skip


class Outer(Module):
    """Calls a layer."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *inputs: Any) -> Any:
        return self.inner(*inputs)


@pytest.mark.parametrize(
    ("layer", "shape", "count"), PRECISE, ids=[type(layer).__name__ for layer, _, _ in PRECISE]
)
@pytest.mark.parametrize(("given", "own"), [("float64", "float32"), ("float32", "float64")])
def test_two_precisions_are_refused_with_both_ways_out(
    layer: Any, shape: tuple[int, ...], count: int, given: str, own: str
) -> None:
    model = Outer(layer).to(own)
    inputs = [wb.ones(*shape, dtype=given)] * count
    before = {key: one.clone() for key, one in model.state_dict().items()}
    words = rf"input\.to\(\w+\.{own}\), or .*model\.to\(\w+\.{given}\)"
    with pytest.raises((wb.DTypeError, ValueError), match=words) as caught:
        model(*inputs)
    assert caught.value.__notes__[0].startswith("in module inner")
    assert all(bool((one == before[key]).all()) for key, one in model.state_dict().items())
    model(*[one.to(own) for one in inputs])
    model.to(given)(*inputs)
    model.to("float32")(*[one.to("float16") for one in inputs])  # 16 bits are wide enough to go along


def test_running_statistics_stay_where_the_precision_is_refused() -> None:
    for affine in (True, False):
        layer = nn.BatchNorm1d(2, affine=affine)
        with pytest.raises(wb.DTypeError, match="The input is float64 and the parameters are float32"):
            layer(wb.randn(8, 2, dtype=wb.float64))
        assert layer.num_batches_tracked is not None
        assert layer.num_batches_tracked.item() == 0


def test_states_of_another_precision_are_refused() -> None:
    state = wb.zeros(1, 2, 3, dtype=wb.float64)
    with pytest.raises(wb.DTypeError, match="float32 and the parameters are float64"):
        nn.GRU(4, 3)(wb.ones(5, 2, 4), state)
