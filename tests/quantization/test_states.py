"""States of converted models: PyTorch's keys, there and back, and what does not fit."""

from __future__ import annotations

import copy
import io
import pickle
import zipfile
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.quantization.states import STATE, converted
from workbench import nn, quantization
from workbench.base.errors import StateDictError, WeightsError


@pytest.fixture(autouse=True)
def _drawn_from_one_seed() -> None:
    wb.manual_seed(0)


def test_a_state_of_pytorchs_gives_its_answers() -> None:
    found = wb.load(STATE)
    model = converted(wb, wb.randn(8, 1, 6, 6))
    assert str(model.load_state_dict(found["state"])) == "<All keys matched successfully>"
    np.testing.assert_array_equal(model(found["x"]).numpy(), found["answer"].numpy())
    assert sorted(model.state_dict()) == sorted(found["state"])


def again(state: Any) -> Any:
    file = io.BytesIO()
    wb.save(state, file)
    return wb.load(io.BytesIO(file.getvalue()))


def embedded(seed: int) -> Any:
    wb.manual_seed(seed)
    config = quantization.float_qparams_weight_only_qconfig
    return quantization.quantize_dynamic(nn.Sequential(nn.Embedding(10, 4)), {nn.Embedding: config})


def dynamic(seed: int) -> Any:
    wb.manual_seed(seed)
    return quantization.quantize_dynamic(
        nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))
    )


class Recurrent(nn.Module):
    """Layers that a state has in packed objects."""

    def __init__(self, bias: bool = True) -> None:
        super().__init__()
        self.long = nn.LSTM(5, 4, 2, bidirectional=True, bias=bias)
        self.gated: Any = nn.GRU(8, 3, bias=bias)
        self.cell: Any = nn.LSTMCell(3, 2, bias=bias)

    def forward(self, x: Any) -> Any:
        """Return the last output."""
        return self.cell(self.gated(self.long(x)[0])[0][-1])[0]


def recurrent(seed: int, dtype: Any = wb.qint8, bias: bool = True) -> Any:
    wb.manual_seed(seed)
    return quantization.quantize_dynamic(Recurrent(bias), dtype=dtype)


def static(seed: int) -> Any:
    wb.manual_seed(seed)
    return converted(wb, wb.randn(8, 1, 6, 6))


def functions(seed: int, *kinds: nn.Module) -> Any:
    """Functions behind a layer, each with a scale of its own."""
    wb.manual_seed(seed)
    chosen = kinds or (nn.ELU(), nn.GELU(), nn.PReLU(), nn.SiLU(), nn.ReLU6(), nn.LeakyReLU())
    return quantization.quantize(nn.Sequential(nn.Linear(5, 4), *chosen).eval(), [wb.randn(32, 5)])


def norms(seed: int) -> Any:
    wb.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.BatchNorm2d(4), nn.GroupNorm(2, 4)
    )
    for one in (model[1], model[3]):
        one.running_mean, one.running_var = wb.randn(4), wb.rand(4) + 0.5
    prepared = quantization.fuse_modules(model.eval(), [["1", "2"]])
    return quantization.quantize(prepared, [wb.randn(8, 1, 6, 6)])


PACKED = "fc._packed_params._packed_params"
MODELS = {
    "static": (static, lambda: wb.randn(8, 1, 6, 6)),
    "functions": (functions, lambda: wb.randn(3, 5)),
    "norms": (norms, lambda: wb.randn(2, 1, 6, 6)),
    "dynamic": (dynamic, lambda: wb.randn(3, 5)),
    "recurrent": (recurrent, lambda: wb.randn(6, 2, 5)),
    "recurrent in half precision": (lambda seed: recurrent(seed, wb.float16), lambda: wb.randn(6, 2, 5)),
    "recurrent without biases": (lambda seed: recurrent(seed, bias=False), lambda: wb.randn(6, 2, 5)),
    "embedding": (embedded, lambda: wb.tensor([[1, 9, 3], [0, 0, 2]])),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_state_is_saved_and_loaded_to_the_bit(name: str) -> None:
    make, inputs = MODELS[name]
    one, other, x = make(0), make(1), inputs()
    assert not np.array_equal(one(x).numpy(), other(x).numpy())
    other.load_state_dict(again(one.state_dict()))
    np.testing.assert_array_equal(one(x).numpy(), other(x).numpy())


def test_keys_are_pytorchs() -> None:
    assert sorted(dynamic(0).state_dict())[:4] == [
        "0._packed_params._packed_params", "0._packed_params.dtype", "0.scale", "0.zero_point",
    ]  # fmt: skip
    assert sorted(embedded(0).state_dict()) == ["0._packed_params._packed_weight", "0._packed_params.dtype"]
    state = static(0).state_dict()
    assert {key for key in state if key.startswith("norm.")} == {
        "norm.scale", "norm.zero_point", "norm.weight", "norm.bias",
    }  # fmt: skip
    assert state["quant.scale"].shape == (1,) and state["conv1.scale"].shape == ()
    weight, bias = state["last._packed_params._packed_params"]
    assert weight.dtype is state["last._packed_params.dtype"] is wb.qint8 and bias is None


def test_keys_of_recurrent_layers_are_pytorchs() -> None:
    state = recurrent(0).state_dict()
    assert list(state) == [
        *(f"long._all_weight_values.{number}.param" for number in range(4)), "gated._all_weight_values.0.param",
        "cell._packed_weight_ih", "cell._packed_weight_hh",
    ]  # fmt: skip
    assert state._metadata["long"] == {"version": 2} and state._metadata["cell"] == {"version": 1}
    assert state._metadata["long._all_weight_values.3"] == {"version": 1}
    (kind, biases, numbers, flags, packed), called = state["gated._all_weight_values.0.param"].__getstate__()
    assert (kind, len(biases), numbers, flags) == ("quantized_dynamic", 2, [], [1])
    assert called == "__torch__.torch.classes.rnn.CellParamsBase"
    (weight, bias), called = packed[1].__getstate__()
    assert called == "__torch__.torch.classes.quantized.LinearPackedParamsBase"
    assert weight.dtype is wb.qint8 and weight.shape == (9, 3) and bias.shape == (9,)
    # States of before have a tensor for each, and are read as well.
    model, other, x = recurrent(0), recurrent(1), wb.randn(6, 2, 5)
    assert str(other.load_state_dict(dict(model.named_buffers()))) == "<All keys matched successfully>"
    np.testing.assert_array_equal(other(x).numpy(), model(x).numpy())


VALUE, CELL = "gated._all_weight_values.0.param", "cell._packed_weight_hh"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda s: s.pop(VALUE), rf'Missing key\(s\) in state_dict: "{VALUE}"'),
        (lambda s: s.update({VALUE: wb.ones(2)}), f"{VALUE}: expected a CellParamsBase, got Tensor"),
        (lambda s: s.update({VALUE: s[CELL]}), "expected a CellParamsBase, got LinearPackedParamsBase"),
        (lambda s: s.update({CELL: s[VALUE]}), f"{CELL}: expected a LinearPackedParamsBase, got CellParamsBase"),
        (lambda s: setattr(s[CELL], "state", (wb.ones(2),)), "expected a packed weight and its bias, got tuple"),
        (lambda s: setattr(s[VALUE], "state", ("quantized",)), r"a layer's two packed weights .*, got quantized"),
        (
            lambda s: s[VALUE].state[3].__setitem__(0, 0),
            r"all eight bits in this state \(reduce_range=False\), and seven here.*: quantize the float model here",
        ),
        (lambda s: s[VALUE].state[4].pop(), "expected two packed weights, got list"),
        (
            lambda s: s.update({VALUE: s["long._all_weight_values.0.param"]}),
            r"size mismatch for gated\.weight_ih_l0",
        ),
        (
            lambda s: s.update({CELL: recurrent(1, wb.float16).state_dict()[CELL]}),
            "cell.weight_hh.*",
        ),
    ],
)  # fmt: skip
def test_objects_that_do_not_fit_change_nothing(change: Any, why: str) -> None:
    model, x, state = recurrent(0), wb.randn(6, 2, 5), recurrent(1).state_dict()
    before = model(x).numpy()
    change(state)
    with pytest.raises(StateDictError, match=why):
        model.load_state_dict(state)
    np.testing.assert_array_equal(model(x).numpy(), before)


def test_biases_find_no_layer_without_them() -> None:
    state = recurrent(1).state_dict()
    with pytest.raises(
        StateDictError, match=r"it has biases other than 0, and the layer here none \(bias=False\)"
    ):
        recurrent(0, bias=False).load_state_dict(state)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        (PACKED, None, r'Missing key\(s\) in state_dict: "fc._packed_params._packed_params"\.'),
        (PACKED, wb.ones(2), "fc._packed_params._packed_params: expected a weight and a bias"),
        (PACKED, (wb.ones(2), None, 1), "expected a weight and a bias, got tuple"),
        ("fc.weight.more", wb.ones(2), r'Unexpected key\(s\) in state_dict: "fc.weight.more"'),
        ("norm.more", wb.ones(2), r'Unexpected key\(s\) in state_dict: "norm.inner.more"'),
    ],
)  # fmt: skip
def test_what_does_not_fit_changes_nothing(key: str, value: Any, why: str) -> None:
    model, x = static(0), wb.randn(8, 1, 6, 6)
    before, state = model(x).numpy(), static(1).state_dict()
    if value is None:
        del state[key]
    else:
        state[key] = value
    with pytest.raises(StateDictError, match=why):
        model.load_state_dict(state)
    np.testing.assert_array_equal(model(x).numpy(), before)


def test_a_table_has_real_zero_points() -> None:
    model, state = embedded(0), embedded(1).state_dict()
    state["0._packed_params._packed_weight"] = wb.quantize_per_tensor(wb.ones(10, 4), 0.1, 0, wb.quint8)
    with pytest.raises(
        StateDictError, match="expected codes with a scale and a real zero point for each row"
    ):
        model.load_state_dict(state)


def test_models_that_are_pickled_leave_their_calibration_behind() -> None:
    x = wb.rand(8, 4)
    prepared = quantization.prepare(wb.nn.Sequential(wb.nn.Linear(4, 3)).eval())
    prepared(x)
    again = pickle.loads(pickle.dumps(prepared))
    assert again.calibration is None and prepared.calibration is not None
    made = quantization.convert(prepared)
    for one in (quantization.convert(again), pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        np.testing.assert_array_equal(one(x).numpy(), made(x).numpy())


def test_functions_of_which_pytorch_saves_nothing_keep_what_they_have() -> None:
    model, other, x = functions(0), functions(1), wb.randn(16, 5)
    state = model.state_dict()
    assert {key.rpartition(".")[0] for key in state} == {
        "quant",
        "module.0",
        "module.0._packed_params",
        "module.6",
    }
    assert state._metadata["module.3"]["held"].keys() == {"scale", "zero_point", "weight"}
    # A dict that has no place for it has it among the keys.
    plain: dict[str, Any] = {}
    model.state_dict(destination=plain)
    assert plain.keys() - state.keys() == {
        *(f"module.{place}.{name}" for place in range(1, 5) for name in ("scale", "zero_point")), "module.3.weight",
    }  # fmt: skip
    assert str(other.load_state_dict(plain)) == "<All keys matched successfully>"
    np.testing.assert_array_equal(other(x).numpy(), model(x).numpy())
    # Without either their own stay, and it is said.
    other = functions(1)
    before = float(other.module[3].scale)
    with pytest.warns(UserWarning, match="the state has no") as told:
        assert str(other.load_state_dict(dict(state))) == "<All keys matched successfully>"
    assert [str(one.message).partition(":")[0] for one in told] == [
        f"the state has no module.{place}.scale, module.{place}.zero_point{more}, as PyTorch saves none of a quantized "
        f"{kind}"
        for place, kind, more in (
            (1, "ELU", ""),
            (2, "GELU", ""),
            (3, "PReLU", ", module.3.weight"),
            (4, "SiLU", ""),
        )
    ]
    assert float(other.module[3].scale) == before
    assert float(other.module[6].scale) == float(model.module[6].scale)
    # What does not fit elsewhere warns of nothing, and changes nothing.
    wrong = {**state, "quant.scale": wb.ones(7)}
    with pytest.raises(StateDictError, match=r"size mismatch for quant\.scale"):
        functions(1).load_state_dict(wrong)


def named(name: bytes) -> bytes:
    return b"X" + len(name).to_bytes(4, "little") + name


PARAMS = b"__torch__.torch.classes.rnn.CellParamsBase"


@pytest.mark.parametrize(
    ("built", "why"),
    [
        (b"(N" + named(b"class") + b"tb", "class 'class' is not read: weights that quantize_dynamic packed are"),
        (b"q\x00(h\x00" + named(PARAMS) + b"tb", r"at \.state: it holds itself"),
        (b"(cos\nsystem\n" + named(PARAMS) + b"tb", r"at \.state: it names os\.system"),
        (b"K\x01b", "does not say its class"),
    ],
)  # fmt: skip
def test_objects_in_files_are_data(built: bytes, why: str) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02ctorch\nScriptObject\n)\x81" + built + b".")
        archive.writestr("archive/version", "3\n")
    with pytest.raises(WeightsError, match=why):
        wb.load(io.BytesIO(file.getvalue()))
