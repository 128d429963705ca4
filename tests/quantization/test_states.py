"""States of converted models: PyTorch's keys, there and back, and what does not fit."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.quantization.states import STATE, converted
from workbench import nn, quantization
from workbench.base.errors import StateDictError


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
