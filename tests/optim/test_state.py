"""What optimizers keep: its layout, how it goes from one to another, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import workbench as wb
from workbench import optim
from workbench.testing import assert_close


def stepped(kind: str = "Adam", **settings: object) -> tuple[wb.Tensor, optim.Optimizer]:
    p = wb.ones(2, 3, names=("A", "B"), requires_grad=True)
    p.grad = wb.ones(2, 3)
    optimizer = getattr(optim, kind)([p], **settings)
    optimizer.step()
    return p, optimizer


def test_the_layout() -> None:
    p, optimizer = stepped()
    packed = optimizer.state_dict()
    assert list(packed) == ["state", "param_groups"]
    assert list(packed["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    assert packed["state"][0]["step"].item() == 1
    assert packed["state"][0]["exp_avg"].names == ("A", "B")
    assert packed["param_groups"][0]["params"] == [0]
    assert optimizer.state[p]["exp_avg"] is packed["state"][0]["exp_avg"]


def test_names_of_parameters_are_kept() -> None:
    net = wb.nn.Linear(2, 1)
    optimizer = optim.SGD(net.named_parameters())
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    other = optim.SGD(net.parameters())
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["param_names"] == ["weight", "bias"]


def test_settings_that_json_has_changed_are_read() -> None:
    _, optimizer = stepped()
    packed = optimizer.state_dict()
    packed["param_groups"] = json.loads(json.dumps(packed["param_groups"]))
    packed["state"] = {"0": packed["state"][0]}
    q = wb.ones(2, 3, requires_grad=True)
    other = optim.Adam([q])
    other.load_state_dict(packed)
    assert other.param_groups[0]["betas"] == (0.9, 0.999)
    assert other.state[q]["step"].item() == 1


def test_loaded_values_are_copies_in_the_parameters_type_and_order() -> None:
    _, optimizer = stepped()
    memory = np.empty((3, 2)).T
    q = wb.from_numpy(memory).requires_grad_()
    other = optim.Adam([q])
    other.load_state_dict(optimizer.state_dict())
    mean = other.state[q]["exp_avg"]
    assert mean.dtype is wb.float64
    assert mean.payload.strides == memory.strides
    mean.zero_()
    assert float(optimizer.state_dict()["state"][0]["exp_avg"].sum()) > 0


def test_a_number_of_steps_as_older_checkpoints_have_it() -> None:
    p, optimizer = stepped()
    packed = optimizer.state_dict()
    packed["state"][0] = {**packed["state"][0], "step": 1}
    optimizer.load_state_dict(packed)
    optimizer.step()
    assert optimizer.state[p]["step"].item() == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("state"), r"\['state'\] missing"),
        (lambda d: d["state"][0].pop("exp_avg"), "missing of parameter 0: exp_avg"),
        (lambda d: d["state"][0].update(ax=wb.ones(1)), "unexpected of parameter 0: ax"),
        (lambda d: d["state"].update({5: {}}), "state of parameter 5, and there are 1 parameters"),
        (
            lambda d: d["state"][0].update(exp_avg=wb.ones(3)),
            r"'exp_avg' of parameter 0 has shape \[3\], the parameter \[2, 3\]",
        ),
        (
            lambda d: d["param_groups"].append({}),
            "different number of parameter groups: 2 there, 1 here",
        ),
        (lambda d: d["param_groups"][0].update(betas=(0.9, 2)), "Invalid beta parameter at index 1: 2"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(change: object, message: str) -> None:
    p, optimizer = stepped()
    packed = optimizer.state_dict()
    packed = {"state": {0: dict(packed["state"][0])}, "param_groups": [dict(packed["param_groups"][0], lr=9)]}
    change(packed)  # type: ignore[operator]
    before = optimizer.state[p]["exp_avg"]
    with pytest.raises(ValueError, match=message):
        optimizer.load_state_dict(packed)
    assert optimizer.state[p]["exp_avg"] is before
    assert optimizer.param_groups[0]["lr"] == 1e-3


def test_all_that_is_wrong_is_listed_at_once() -> None:
    _, sgd = stepped("SGD", momentum=0.9)
    _, adam = stepped()
    with pytest.raises(ValueError, match="nothing was changed") as caught:
        adam.load_state_dict({**sgd.state_dict(), "param_groups": adam.state_dict()["param_groups"]})
    assert "missing of parameter 0: exp_avg, exp_avg_sq, step" in str(caught.value)
    assert "unexpected of parameter 0: momentum_buffer" in str(caught.value)


def test_lbfgs_and_adafactor_go_on_where_they_were() -> None:
    def run(kind: str, halves: bool) -> wb.Tensor:
        p = wb.tensor([[3.0, -2.0], [0.5, 1.0]], requires_grad=True)
        optimizer = getattr(optim, kind)([p], lr=0.05)
        for step in range(4):
            if halves and step == 2:
                kept = optimizer.state_dict()
                optimizer = getattr(optim, kind)([p], lr=7.0)
                optimizer.load_state_dict(kept)

            def closure(now: optim.Optimizer = optimizer) -> wb.Tensor:
                now.zero_grad()
                loss = (p**4).sum() + (p[0] * p[1]).sum()
                loss.backward()
                return loss

            optimizer.step(closure)
        return p.detach()

    for kind in ("LBFGS", "Adafactor"):
        assert_close(run(kind, True), run(kind, False), rtol=0, atol=0)


def test_a_rate_that_is_a_tensor_is_read_at_every_step() -> None:
    p = wb.ones(1, requires_grad=True)
    p.grad = wb.ones(1)
    rate = wb.tensor(0.5)
    optimizer = optim.SGD([p], lr=rate)
    optimizer.step()
    rate.fill_(0.25)
    optimizer.step()
    assert p.item() == 0.25


def test_amsgrad_switched_on_later_begins_with_what_it_lacks() -> None:
    p, optimizer = stepped()
    optimizer.param_groups[0]["amsgrad"] = True
    optimizer.step()
    assert float(optimizer.state[p]["max_exp_avg_sq"].min()) > 0
