"""A message that speaks of names says where each came from: a line, a parameter, a loader."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import data

nn: Any = wb.nn


def refusal(call: Any) -> str:
    with pytest.raises(wb.DimensionError) as caught:
        call()
    return str(caught.value)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.map = nn.Embedding(5, 4), nn.Linear(4, 4)

    def forward(self, numbers: Any) -> Any:
        h = self.words(numbers)
        return h + self.map(h.sin())


def test_a_name_that_a_layer_gave_is_followed_to_its_parameter() -> None:
    told = refusal(lambda: Net()(wb.zeros(N=2, T=3, dtype=wb.int64)))
    assert "'embedding_dim' of h: parameter words.weight of Net" in told
    assert "'out_features' of other: parameter map.weight of Net" in told


def test_a_name_that_was_given_is_followed_to_its_line() -> None:
    x = wb.zeros(2, 3, requires_grad=True).rename("N", "C")
    y = wb.zeros(2, 3).refine_names("N", "chanel")
    told = refusal(lambda: x.exp().sum("N", keepdim=True) + y)
    assert "'chanel' of y: test_origins.py:" in told
    assert "'C' of input: test_origins.py:" in told
    z = wb.zeros(2, 3)
    z.names = ("N", "D")
    assert "'D' of z: test_origins.py:" in refusal(lambda: x * z)
    assert "'E' of z: test_origins.py:" in refusal(lambda: x * z.rename_("N", "E"))


def test_layers_say_it_too() -> None:
    assert "'H', 'W', 'C' of input: test_origins.py:" in refusal(
        lambda: nn.Conv2d(1, 2, 3)(wb.zeros(N=1, H=5, W=5, C=1))
    )
    assert "'N' of input: test_origins.py:" in refusal(
        lambda: nn.LSTM(3, 4, batch_first=True)(wb.zeros(T=2, N=2, E=3))
    )


def test_a_name_that_a_loader_gave_is_the_loaders() -> None:
    (x,) = next(iter(data.DataLoader(data.TensorDataset(wb.ones(4, 2)), 2, batch_dim="N")))
    assert "'N' of x: batch_dim of the DataLoader" in refusal(lambda: x + wb.ones(M=2, C=2))
    named = data.TensorDataset(wb.ones(N=4, C=2))
    (x,) = next(iter(data.DataLoader(named, 2)))
    assert ": test_origins.py:" in refusal(lambda: x + wb.ones(N=2, D=2))


def test_a_label_beside_names_says_whose_it_is() -> None:
    layer = nn.Linear(2, 3)
    told = refusal(lambda: layer.bias + wb.zeros(N=2, out_feature=3))
    assert "'out_features' of input: parameter bias of layer" in told
    told = refusal(lambda: nn.Linear(2, 3).bias + wb.zeros(N=2, out_feature=3))
    assert "'out_features' of input: label of a parameter" in told


def test_where_no_name_is_nothing_is_said() -> None:
    told = refusal(lambda: wb.zeros(2, 3) + wb.zeros(2, 4))
    assert " of " not in told.partition("\n")[2]
