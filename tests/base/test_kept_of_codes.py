"""What is kept of codes: until values are changed where these lie, and no sooner."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.base.dtypes import qint8, quint4x2
from workbench.base.quantized_array import QuantizedArray


def payload(codes: Any) -> QuantizedArray:
    return QuantizedArray(codes, 0.5, 0, qint8)


def test_what_is_kept_is_gone_once_its_codes_were_changed() -> None:
    memory = np.zeros(64, np.int8)
    # Two views of one array, and one that lies beside both.
    one, other, beside = payload(memory[:32]), payload(memory[16:40]), payload(memory[40:])
    for each in (one, other, beside):
        each.cache["packed"] = 1
    other.write(3)
    assert [each.cache.get("packed") for each in (one, other, beside)] == [None, None, 1]
    one.cache["packed"] = 2
    beside.write(4)
    assert [each.cache.get("packed") for each in (one, beside)] == [2, None]


def test_who_packs_while_codes_change_keeps_nothing() -> None:
    codes = payload(np.zeros(64, np.int8))
    kept = codes.cache
    codes.write(1)
    assert codes.cache == {}
    kept["packed"] = "of codes before the change"
    assert "packed" not in codes.cache


def test_copies_keep_nothing_of_their_own() -> None:
    codes = payload(np.zeros(64, np.int8))
    codes.cache["packed"] = 1
    for made in (
        codes.copy(),
        copy.deepcopy(codes),
        codes.mapped_as(QuantizedArray(codes.codes, 0.25, 0, qint8)),
    ):
        assert "packed" not in made.cache


def test_codes_of_four_bits_are_told_by_their_bytes() -> None:
    codes = QuantizedArray(np.zeros((4, 8), np.uint8), 0.5, 0, quint4x2)
    codes.cache["rows"] = 1
    payload(np.zeros(8, np.int8)).write(2)
    assert codes.cache == {"rows": 1}
    codes.write(3)
    assert codes.cache == {}


@pytest.mark.parametrize("inplace", [False, True])
def test_layers_stay_packed_where_values_between_them_change_in_place(inplace: bool) -> None:
    wb.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU6(inplace), nn.Conv2d(8, 8, 3), nn.Hardtanh(-1, 1, inplace)
    ).eval()
    x = wb.randn(2, 3, 9, 9)
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    integer = q.convert_fx(prepared)
    first = integer(x)
    layers: list[Any] = [one for one in integer.modules() if type(one).__name__ == "Conv2d"]
    kept = [one.weight.payload.cache for one in layers]
    assert wb.equal(integer(x), first)
    assert len(layers) == 2 and all(
        one.weight.payload.cache is own for one, own in zip(layers, kept, strict=True)
    )
    # A weight that was changed itself is packed again.
    layers[0].weight.fill_(0.0)
    assert layers[0].weight.payload.cache is not kept[0] and not wb.equal(integer(x), first)
