"""Models of 16-bit numbers: what Captum answers is answered here, and no further from what float32 says."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import attribution

torch = pytest.importorskip("torch")
captum = pytest.importorskip("captum.attr")

from tests.peers.attribution.pairs import Pair, pairs  # noqa: E402  # they ask for torch

pytestmark = [
    pytest.mark.filterwarnings("ignore:Input Tensor:UserWarning"),
    pytest.mark.filterwarnings("ignore:Setting forward, backward hooks:UserWarning"),
    pytest.mark.filterwarnings("ignore:required_grads:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*do not add up"),
]

PAIRS = pairs()
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}

METHODS: dict[str, Callable[[Any, Any, Any, Any, Any, Any], Any]] = {
    "Saliency": lambda A, m, layer, x, b, t: A.Saliency(m).attribute(x, t),
    "InputXGradient": lambda A, m, layer, x, b, t: A.InputXGradient(m).attribute(x, t),
    "IntegratedGradients": lambda A, m, layer, x, b, t: A.IntegratedGradients(m).attribute(x, b, t),
    "DeepLift": lambda A, m, layer, x, b, t: A.DeepLift(m).attribute(x, b, t),
    "FeatureAblation": lambda A, m, layer, x, b, t: A.FeatureAblation(m).attribute(x, b, t),
    "LayerGradCam": lambda A, m, layer, x, b, t: A.LayerGradCam(m, layer).attribute(x, t),
    "LayerActivation": lambda A, m, layer, x, b, t: A.LayerActivation(m, layer).attribute(x),
    "LayerConductance": lambda A, m, layer, x, b, t: A.LayerConductance(m, layer).attribute(x, b, t),
}


def answered(library: Any, methods: Any, pair: Pair, name: str, dtype: str) -> list[Any]:
    """Return the attributions of a library in a type."""
    kind = getattr(library, dtype)
    model = copy.deepcopy(pair.model(library)).to(kind)
    given, start = (
        tuple(one.to(kind) for one in several) if isinstance(several, tuple) else several.to(kind)
        for several in (pair.given(library), pair.baselines(library))
    )
    layer = model.get_submodule(pair.layer)
    found = METHODS[name](methods, model, layer, given, start, pair.target)
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("network", ["convolutions", "two inputs"])
def test_no_further_from_float32_than_captum(network: str, name: str, dtype: str) -> None:
    pair = PAIRS[network]
    ours = answered(wb, attribution, pair, name, dtype)
    theirs = answered(torch, captum, pair, name, dtype)
    exact = answered(wb, attribution, pair, name, "float32")
    given = pair.given(wb)
    outputs = float(pair.ours(*(given if isinstance(given, tuple) else (given,))).abs().max())
    for here, there, true in zip(ours, theirs, exact, strict=True):
        # Captum gives Integrated Gradients in float32; here what is explained has the type.
        assert here.dtype.name == dtype
        assert str(there.dtype).removeprefix("torch.") in (dtype, "float32")
        truth = true.detach().numpy()
        a, b = here.detach().float().numpy(), there.detach().float().numpy()
        # A value near a kink of a rectifier may fall on its other side; a difference of outputs has their digits.
        far = EPS[dtype] * (6 * np.abs(truth).max() + 2 * outputs)
        assert np.mean(np.abs(a - truth) <= far) >= 0.97
        assert np.abs(a - truth).mean() <= 1.5 * np.abs(b - truth).mean() + EPS[dtype] * np.abs(truth).mean()


def test_relevance_where_captums_is_not_a_number() -> None:
    """Its ε of 1e-9 is 0 in float16; here what is shared out is computed in float32."""
    there = torch.nn.Sequential(torch.nn.Linear(2, 1, bias=False), torch.nn.ReLU()).half()
    there[0].weight.data.fill_(1.0)
    theirs = captum.LRP(there).attribute(torch.tensor([[1.0, -1.0]]).half())
    assert theirs.isnan().all()
    here = wb.nn.Sequential(wb.nn.Linear(2, 1, bias=False), wb.nn.ReLU()).half().eval()
    here[0].weight.data.fill_(1.0)
    ours = attribution.LRP(here).attribute(wb.tensor([[1.0, -1.0]]).half())
    np.testing.assert_array_equal(ours.numpy(), 0.0)
