"""Transformers of PyTorch's in codes: as a graph of ours, beside the same graph of ops, and what PyTorch computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q

torch = pytest.importorskip("torch")

from workbench.interop.torch import from_module  # noqa: E402

RANDOM = np.random.default_rng(31)
MAPPING = q.get_default_qconfig_mapping("onednn")


def converted(model: Any, *inputs: Any) -> Any:
    prepared = q.prepare_fx(model, MAPPING, inputs)
    with wb.no_grad():
        prepared(*inputs)
        return q.convert_fx(prepared)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize(("norm_first", "activation"), [(True, "gelu"), (False, "relu")])
def test_an_encoder_in_codes(batch_first: bool, norm_first: bool, activation: str) -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        32, 4, 64, 0.0, activation=activation, batch_first=batch_first, norm_first=norm_first
    )

    class Whole(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.body = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, x: Any) -> Any:
            return self.body(x) * 1.0

    theirs = Whole().eval()
    x = RANDOM.normal(size=(16, 10, 32)).astype(np.float32)
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(x)).numpy()
    y = wb.tensor(x)
    # The one is a module of layers, the other a graph of ops.
    layers, ops = from_module(theirs.body), from_module(theirs)
    assert type(layers) is wb.nn.TransformerEncoder
    found = [q.sqnr(wanted, converted(one, y)(y).numpy()) for one in (layers, ops)]
    assert min(found) > 30 and abs(found[0] - found[1]) < 2
    for one in (layers, ops):
        made = converted(one, y)
        kinds = [type(part) for part in made.modules()]
        assert kinds.count(wb.nn.Linear) == 0
        assert sum(issubclass(kind, q.quantized.Linear) for kind in kinds) == 12


def test_masked_attention_in_codes_is_near_what_pytorch_computes() -> None:
    torch.manual_seed(1)
    theirs = torch.nn.MultiheadAttention(32, 4, batch_first=True).eval()
    ours = from_module(theirs)
    x = RANDOM.normal(size=(8, 6, 32)).astype(np.float32)
    padding = np.zeros((8, 6), bool)
    padding[:, 4:] = True
    mask = np.triu(np.full((6, 6), -np.inf, np.float32), 1)
    integer = converted(ours, *[wb.tensor(x)] * 3)
    for average in (True, False):
        settings = {"average_attn_weights": average, "need_weights": True}
        with torch.no_grad():
            wanted = theirs(
                *[torch.from_numpy(x)] * 3, key_padding_mask=torch.from_numpy(padding),
                attn_mask=torch.from_numpy(np.isinf(mask)), **settings,
            )  # fmt: skip
        found = integer(
            *[wb.tensor(x)] * 3, key_padding_mask=wb.tensor(padding), attn_mask=wb.tensor(mask), **settings
        )
        assert q.sqnr(wanted[1].numpy(), found[1].numpy()) > 32
        # Without other places to look at, values are larger than what was seen.
        assert q.sqnr(wanted[0].numpy(), found[0].numpy()) > 15
