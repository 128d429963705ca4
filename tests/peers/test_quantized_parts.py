"""LSTM and attention written with observed parts, against PyTorch's: results, states, codes, what programs call."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.peers.saturation import LIMITS

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("torch.ao.quantization")

RANDOM = np.random.default_rng(11)


def given(library: Any, array: Any) -> Any:
    return wb.from_numpy(array.copy()) if library is wb else torch.tensor(array)


def config(library: Any) -> Any:
    q = library.ao.quantization
    weight = q.MinMaxObserver.with_args(dtype=library.qint8, qscheme=library.per_tensor_symmetric, **LIMITS)
    return q.QConfig(activation=q.MinMaxObserver.with_args(dtype=library.quint8), weight=weight)


def recurrent(library: Any, **settings: Any) -> Any:
    nn, q = library.nn, library.ao.quantization

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.lstm = nn.LSTM(4, 3, **settings)

        def forward(self, x: Any) -> Any:
            y, (h, c) = self.lstm(self.quant(x))
            return self.dequant(y), self.dequant(h), self.dequant(c)

    return Model().eval()


def attentive(library: Any, **settings: Any) -> Any:
    nn, q = library.nn, library.ao.quantization

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.attention = nn.MultiheadAttention(8, 2, **settings)

        def forward(self, x: Any, **masks: Any) -> Any:
            codes = self.quant(x)
            y, weights = self.attention(codes, codes, codes, **masks)
            return self.dequant(y), self.dequant(weights)

    return Model().eval()


def both(make: Any, **settings: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    mine, theirs = make(wb, **settings), make(torch, **settings)
    mine.load_state_dict({key: wb.from_numpy(one.numpy().copy()) for key, one in theirs.state_dict().items()})
    for library, model in ((wb, mine), (torch, theirs)):
        model.qconfig = config(library)
    return wb.ao.quantization.prepare(mine), torch.ao.quantization.prepare(theirs)


def close(found: Any, wanted: Any, steps: float) -> None:
    """Within so many of the coarsest step between codes."""
    for one, other in zip(found, wanted, strict=True):
        assert tuple(one.shape) == tuple(other.shape)
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=0, atol=steps)


@pytest.mark.parametrize(
    "settings",
    [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False}, {"num_layers": 3}],
    ids=str,
)
def test_an_lstm_gives_pytorchs_codes(settings: dict[str, Any]) -> None:
    mine, theirs = both(recurrent, **settings)
    for _ in range(3):
        x = RANDOM.standard_normal((5, 5, 4)).astype(np.float32)
        close(mine(given(wb, x)), theirs(given(torch, x)), 1e-6)
    converted = wb.ao.quantization.convert(mine), torch.ao.quantization.convert(theirs)
    assert type(converted[0].lstm) is wb.ao.nn.quantized.LSTM
    assert converted[0].state_dict().keys() == converted[1].state_dict().keys()
    # The same codes: what they stand for differs by the digits of a scale.
    close(converted[0](given(wb, x)), converted[1](given(torch, x)), 1e-5)


@pytest.mark.parametrize("split", [False, True])
def test_a_cell_gives_pytorchs_codes(split: bool) -> None:
    theirs = torch.nn.LSTMCell(4, 3)
    mine = wb.nn.LSTMCell(4, 3)
    mine.load_state_dict({key: wb.from_numpy(one.numpy().copy()) for key, one in theirs.state_dict().items()})
    mine.qconfig, theirs.qconfig = config(wb), config(torch)  # type: ignore[attr-defined]
    x = RANDOM.standard_normal((6, 4)).astype(np.float32)
    found = wb.ao.nn.quantizable.LSTMCell.from_float(mine, split_gates=split)
    wanted = torch.ao.nn.quantizable.LSTMCell.from_float(theirs, split_gates=split)
    close(found(given(wb, x)), wanted(given(torch, x)), 1e-6)
    assert [key for key in found.state_dict() if "post_process" not in key] == [*wanted.state_dict()]


MASKS: list[dict[str, Any]] = [
    {},
    {"attn_mask": np.triu(np.ones((5, 5), bool), 1)},
    {"key_padding_mask": np.array([[False] * 4 + [True]] * 3), "average_attn_weights": False},
]


@pytest.mark.parametrize("masks", MASKS, ids=["all", "causal", "padded"])
@pytest.mark.parametrize("bias", [True, False])
def test_attention_gives_pytorchs_codes(bias: bool, masks: dict[str, Any]) -> None:
    mine, theirs = both(attentive, bias=bias)

    def call(model: Any, library: Any) -> Any:
        made = {
            key: given(library, one) if isinstance(one, np.ndarray) else one for key, one in masks.items()
        }
        return model(given(library, x), **made)

    for _ in range(2):
        x = RANDOM.standard_normal((5, 3, 8)).astype(np.float32)
        close(call(mine, wb), call(theirs, torch), 1e-6)
    converted = wb.ao.quantization.convert(mine), torch.ao.quantization.convert(theirs)
    found, wanted = call(converted[0], wb), call(converted[1], torch)
    # Scores are added up in another order, and may meet a half between two codes.
    step = float(converted[0].attention.out_proj.scale)
    assert (np.abs(found[0].numpy() - wanted[0].numpy()) < 1e-5).mean() > 0.95
    close(found, wanted, 1.01 * max(step, float(converted[0].attention.quant_attn_output_weights.scale)))


def test_attention_is_right_batch_first() -> None:
    # PyTorch's quantizable attention mixes heads and samples there: its own nn.MultiheadAttention is the judge.
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=4).eval()
    mine = wb.nn.MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=4).eval()
    mine.load_state_dict({key: wb.from_numpy(one.numpy().copy()) for key, one in theirs.state_dict().items()})
    mine.qconfig = config(wb)  # type: ignore[attr-defined]
    observed = wb.ao.nn.quantizable.MultiheadAttention.from_float(mine)
    inputs = [RANDOM.standard_normal((3, 5, size)).astype(np.float32) for size in (8, 6, 4)]
    wanted = theirs(*(given(torch, one) for one in inputs))
    close(observed(*(given(wb, one) for one in inputs)), wanted, 1e-5)


def test_attention_goes_back_to_floating_point() -> None:
    mine, _ = both(attentive)
    x = given(wb, RANDOM.standard_normal((5, 3, 8)).astype(np.float32))
    wanted = mine(x)[0]
    codes = wb.ao.quantization.convert(mine)
    floating = codes.attention.dequantize()
    numbers = codes.quant(x).dequantize()
    found = floating(numbers, numbers, numbers)[0]
    assert float((found - wanted).abs().max()) < 0.05 < float(wanted.abs().max())


def test_programs_name_custom_modules_as_in_pytorch() -> None:
    nn, q = wb.ao.nn, wb.ao.quantization
    model = recurrent(wb)
    model.qconfig = config(wb)
    swaps = {"float_to_observed_custom_module_class": {wb.nn.LSTM: nn.quantizable.LSTM}}
    prepared = q.prepare(model, prepare_custom_config_dict=swaps)
    assert type(prepared.lstm) is nn.quantizable.LSTM
    prepared(given(wb, RANDOM.standard_normal((5, 2, 4)).astype(np.float32)))
    swaps = {"observed_to_quantized_custom_module_class": {nn.quantizable.LSTM: nn.quantized.LSTM}}
    assert type(q.convert(prepared, convert_custom_config_dict=swaps).lstm) is nn.quantized.LSTM
    # As in PyTorch, what has no form in codes is left as it is, and refuses them when it is called.
    left = q.prepare(model, prepare_custom_config_dict={})
    x = given(wb, RANDOM.standard_normal((5, 2, 4)).astype(np.float32))
    left(x)
    with pytest.raises(wb.DTypeError, match="LSTM computes with numbers, and was given codes, quint8"):
        q.convert(left)(x)
    with pytest.raises(
        wb.QuantizationError, match="'float_to_observed_custom_module_class' is known, and not"
    ):
        q.prepare(model, prepare_custom_config_dict={"custom": {}})
    for kind in ("LSTM", "MultiheadAttention"):
        with pytest.raises(wb.QuantizationError, match="has not been observed"):
            getattr(nn.quantized, kind).from_float(wb.nn.LSTM(2, 2))
        with pytest.raises(wb.QuantizationError, match="is what is observed"):
            getattr(nn.quantizable, kind).from_observed(None)
    unseen = nn.quantizable.LSTM.from_float(wb.nn.LSTM(2, 2).eval(), config(wb))
    with pytest.raises(wb.QuantizationError, match=r"not calibrated: layers\.0\.layer_fw\.cell\.igates"):
        nn.quantized.LSTM.from_observed(unseen)
    with pytest.raises(wb.QuantizationError, match="projections"):
        nn.quantizable.LSTM.from_float(wb.nn.LSTM(2, 2, proj_size=1), config(wb))
    with pytest.raises(wb.QuantizationError, match="has no qconfig"):
        nn.quantizable.LSTM.from_float(wb.nn.LSTM(2, 2))


def test_nothing_is_dropped_on_codes() -> None:
    layers = wb.nn.Sequential(wb.nn.Linear(3, 2), wb.nn.Dropout(0.9)).eval()
    prepared = wb.quantization.prepare(layers)
    prepared(wb.ones(2, 3))
    converted = wb.quantization.convert(prepared)
    assert repr(converted).count("QuantizedDropout") == 1
    before = converted(wb.ones(2, 3))
    assert wb.equal(converted.train()(wb.ones(2, 3)), before)
