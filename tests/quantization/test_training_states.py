"""States of models in training: PyTorch's keys, what is beside them, and what a ReLU6 rounds there."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.train import EarlyStopping, Trainer


def prepared(seed: int = 0, *functions: Any) -> Any:
    wb.manual_seed(seed)
    layers = functions or (
        nn.Conv1d(1, 2, 3),
        nn.GELU(),
        nn.ConvTranspose1d(2, 2, 3),
        nn.SiLU(),
        nn.Flatten(),
    )
    made = q.prepare_qat(nn.Sequential(q.QuantStub(), *layers, nn.Linear(16, 3), q.DeQuantStub()).train())
    with wb.no_grad():
        made(wb.randn(4, 1, 8))
    return made


BESIDE = {
    1: "weight_fake_quant", 2: "activation_post_process", 3: "weight_post_process", 4: "activation_post_process"
}  # fmt: skip


def scales(model: Any) -> list[Any]:
    return [getattr(model[place], child).scale.tolist() for place, child in BESIDE.items()]


def test_what_only_we_observe_is_beside_the_keys() -> None:
    model = prepared()
    state = model.state_dict()
    assert not [key for key in state for place, child in BESIDE.items() if key.startswith(f"{place}.{child}")]
    assert {"1.activation_post_process.scale", "1.weight", "3.activation_post_process.scale"} <= state.keys()
    held = state._metadata["2"]["held"]
    assert float(held["activation_post_process.scale"]) == float(model[2].activation_post_process.scale)
    # A copy: what is beside is not changed by who trains on.
    held["activation_post_process.scale"].fill_(7.0)
    assert float(model[2].activation_post_process.scale) != 7.0
    # A dict that has no place for it has it among the keys.
    plain = model.state_dict(destination={})
    assert {f"{place}.{child}.scale" for place, child in BESIDE.items()} <= plain.keys() - state.keys()
    assert str(prepared(1).load_state_dict(plain)) == "<All keys matched successfully>"


def saved(model: Any, folder: Path) -> Any:
    wb.save(model.state_dict(), folder / "state.pt")
    return wb.load(folder / "state.pt")


def as_weights(suffix: str) -> Any:
    def write(model: Any, folder: Path) -> Any:
        wb.save_weights(model, folder / f"state{suffix}")
        return wb.load_weights(folder / f"state{suffix}")

    return write


WAYS = {
    "a file": saved,
    "weights of PyTorch": as_weights(".pt"),
    "safetensors": as_weights(".safetensors"),
    "npz": as_weights(".npz"),
    "a copy": lambda model, folder: copy.deepcopy(model).state_dict(),
    "a pickle": lambda model, folder: pickle.loads(pickle.dumps(model)).state_dict(),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_state_goes_over_to_another_model_whole(name: str, tmp_path: Path) -> None:
    one, other = prepared(0), prepared(1)
    assert scales(one) != scales(other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(other.load_state_dict(WAYS[name](one, tmp_path))) == "<All keys matched successfully>"
    assert scales(one) == scales(other)
    x = wb.randn(4, 1, 8)
    np.testing.assert_array_equal(one.eval()(x).numpy(force=True), other.eval()(x).numpy(force=True))
    converted = [q.convert(model)(x).numpy(force=True) for model in (one, other)]
    np.testing.assert_array_equal(*converted)


def test_a_state_without_them_leaves_them_and_says_so() -> None:
    model, state = prepared(0), dict(prepared(1).state_dict())
    before = scales(model)
    with pytest.warns(UserWarning, match="the state has no") as told:
        assert str(model.load_state_dict(state)) == "<All keys matched successfully>"
    assert [str(one.message).partition(":")[0] for one in told] == [
        f"the state has no {place}.{child}, as PyTorch has none in a {kind} in training"
        for (place, child), kind in zip(
            BESIDE.items(), ("Conv1d", "GELU", "ConvTranspose1d", "SiLU"), strict=True
        )
    ]
    assert scales(model) == before
    np.testing.assert_array_equal(model[6].weight.numpy(force=True), state["6.weight"].numpy())
    # What does not fit elsewhere warns of nothing, and changes nothing.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(wb.base.errors.StateDictError, match=r"size mismatch for 6\.weight"):
            model.load_state_dict({**state, "6.weight": wb.ones(7)})
    # A part of what is beside is refused as a part of any other module is.
    cut = prepared(1).state_dict()
    del cut._metadata["2"]["held"]["activation_post_process.scale"]
    with pytest.raises(wb.base.errors.StateDictError, match=r'Missing.*"2\.activation_post_process\.scale"'):
        model.load_state_dict(cut)


def test_observers_alone_have_all_of_them() -> None:
    one, other = prepared(0), prepared(1)
    found = q.get_observer_state_dict(one)
    assert "2.activation_post_process.scale" in found
    q.load_observer_state_dict(other, found)
    assert scales(other)[1] == scales(one)[1]


def test_a_training_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    data = wb.data.DataLoader(wb.data.TensorDataset(wb.randn(8, 1, 8), wb.randint(0, 3, (8,))), 4)

    def trainer(seed: int) -> Any:
        model = prepared(seed)
        stopping = EarlyStopping("loss", patience=1, restore_best=True)
        return Trainer(
            model,
            nn.functional.cross_entropy,
            wb.optim.SGD(model.parameters(), 0.1),
            callbacks=[stopping],
            progress=False,
        )

    one, other = trainer(0), trainer(1)
    one.fit(data, epochs=1)
    one.save(tmp_path / "made.wb")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.load(tmp_path / "made.wb")
        assert scales(other.model) == scales(one.model)
    best = other.callbacks[0].state_dict()["weights"]
    assert best["2.activation_post_process.scale"].tolist() == scales(one.model)[1]


@pytest.mark.parametrize("inplace", [False, True])
def test_a_relu6_rounds_in_training_and_has_no_scale_in_codes(inplace: bool) -> None:
    model = prepared(0, nn.Flatten(), nn.Linear(8, 16), nn.ReLU6(inplace), nn.Dropout(0.5, inplace))
    assert "3.activation_post_process.scale" in model.state_dict()
    assert not [key for key in model.state_dict() if key.startswith("4.")]
    names = model.calibration.names
    assert not [name for name in names if name.startswith("3")]
    assert q.Calibration(model, evaluate=wb.randn(4, 1, 8)).names == names
    with wb.no_grad():
        x = wb.randn(4, 1, 8)
        out = model[:4](x).numpy()
    step = float(model[3].activation_post_process.scale)
    np.testing.assert_allclose(out / step, np.rint(out / step), atol=1e-4)
    assert 0 < step != float(model[2].activation_post_process.scale)
    integer = q.convert(model.eval())
    assert type(integer[3]) is q.quantized.ReLU6 and type(integer[4]) is q.quantized.Dropout
    assert not [key for key in integer.state_dict() if key.startswith(("3.", "4."))]
    # As many codes as the layer before has, whatever was observed here.
    codes = integer[:3](100 * x)
    assert integer[3](codes).q_scale() == codes.q_scale()
    np.testing.assert_array_equal(integer[3](codes).int_repr().numpy(), nn.ReLU6()(codes).int_repr().numpy())


def test_a_relu6_that_stays_what_it_is_rounds_no_longer() -> None:
    model = prepared(0, nn.Flatten(), nn.Linear(8, 16), nn.ReLU6())
    mapping = q.get_default_static_quant_module_mappings()
    del mapping[nn.ReLU6]
    integer = q.convert(model.eval(), mapping)
    assert type(integer[3]) is nn.ReLU6 and not [*integer[3].children()]
    assert integer(wb.randn(4, 1, 8)).shape == (4, 3)


def test_a_relu6_without_a_qconfig_is_left() -> None:
    model: Any = nn.Sequential(q.QuantStub(), nn.Linear(8, 16), nn.ReLU6(), q.DeQuantStub()).train()
    model.qconfig, model[2].qconfig = q.get_default_qat_qconfig(), None
    made = q.prepare_qat(model)
    assert [*made[1].children()] and not [*made[2].children()]
