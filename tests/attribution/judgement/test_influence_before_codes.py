"""Influence where a part of the model is in codes, whose states have more than tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.attribution.influence import TracInCP, TracInCPFast

LABELS = wb.tensor([0, 1, 1, 0, 1, 0, 0, 1])


class Headed(nn.Module):
    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body, self.head = body, nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x))


class Last(nn.Module):
    """A recurrent layer, and what it gives at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.layer(x)[0][:, -1]


def calibrated() -> tuple[Any, Any]:
    # PyTorch's keys have no place for the scale of a PReLU: it stands beside them.
    body = nn.Sequential(nn.Conv1d(5, 4, 3), nn.PReLU(), nn.Flatten(), nn.Linear(4, 4, bias=False), nn.ReLU())
    x = wb.randn(8, 5, 3)
    return q.quantize(body, [x]), x


def dynamic() -> tuple[Any, Any]:
    return q.quantize_dynamic(Last().eval()), wb.randn(8, 5, 3)


def codes(model: Any) -> list[Any]:
    with wb.no_grad():
        return [model.body(one).numpy() for one in (wb.ones(1, 5, 3), wb.arange(15.0).reshape(1, 5, 3) / 15)]


@pytest.mark.parametrize("parallel", [False, True], ids=["alone", "parallel"])
@pytest.mark.parametrize("make", [calibrated, dynamic])
def test_codes_are_loaded_and_put_back(
    make: Callable[[], tuple[Any, Any]], parallel: bool, tmp_path: Path
) -> None:
    body, x = make()
    model = Headed(body).eval()
    held, features, heads = codes(model), [], []
    for number in range(2):
        other = Headed(make()[0]).eval()
        with wb.no_grad():
            # One by one, as gradients are taken: a dynamic layer has the range of what it is given together.
            features.append(wb.cat([other.body(one) for one in x.split(1)]))
        heads.append(str(tmp_path / f"head{number}.pt"))
        wb.save(other.head.state_dict(), heads[-1])
        saved: Any = nn.DataParallel(other) if parallel else other
        wb.save(saved.state_dict(), tmp_path / f"model{number}.pt")
    paths = [str(tmp_path / f"model{number}.pt") for number in range(2)]
    loss = {"loss_fn": nn.functional.cross_entropy, "batch_size": 4}
    expected = 0
    for one, path in zip(features, heads, strict=True):
        data = wb.data.TensorDataset(one, LABELS)
        expected = expected + TracInCP(model.head, data, [path], **loss).influence((one, LABELS)).numpy()
    data = wb.data.TensorDataset(x, LABELS)
    head = model.head.weight.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = TracInCP(model, data, paths, layers=["head"], **loss).influence((x, LABELS))
        fast = TracInCPFast(model, "head", data, paths, **loss).influence((x, LABELS))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-6)
    assert fast.shape == (8, 8)
    assert model.head.weight.tolist() == head
    for one, before in zip(codes(model), held, strict=True):
        np.testing.assert_array_equal(one, before)
