"""Layers that are functions of their settings: scripted into words of `nn.functional`, and kept in archives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.jit.test_script_modules import saved
from workbench import nn
from workbench.graph import LeafModule
from workbench.jit.scripting.layers import LAYERS


def rows(*sizes: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (wb.randn(*sizes),)


def shares(*sizes: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (wb.rand(*sizes), wb.rand(*sizes))


def numbers(*sizes: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (wb.randn(*sizes), wb.randn(*sizes))


def signs() -> tuple[Any, ...]:
    return wb.randn(3, 4), wb.where(wb.randn(3, 4) > 0, wb.tensor(1.0), wb.tensor(-1.0))


def classes() -> tuple[Any, ...]:
    return wb.randn(3, 4).log_softmax(1), wb.tensor([1, 0, 3])


def pairs() -> tuple[Any, ...]:
    return wb.randn(3, 4), wb.randn(3, 4), wb.tensor([1, -1, 1])


ALIKE, LINE, PLANE, BLOCK = rows(3, 4), rows(2, 4, 9), rows(2, 4, 8, 6), rows(1, 4, 6, 6, 6)
LAYERS_OF: list[tuple[nn.Module, Callable[[], tuple[Any, ...]]]] = [
    *((one, ALIKE) for one in (
        nn.CELU(0.7), nn.SELU(), nn.Mish(), nn.Hardsigmoid(), nn.Hardswish(), nn.Hardshrink(0.3), nn.Softshrink(0.2),
        nn.Softsign(), nn.Tanhshrink(), nn.LogSigmoid(), nn.Threshold(0.1, -1.0), nn.PReLU(), nn.PReLU(4), nn.GLU(1),
        nn.RReLU(), nn.Softmin(1), nn.RMSNorm(4), nn.RMSNorm((3, 4), elementwise_affine=False), nn.AlphaDropout(0.4),
        nn.Unflatten(1, (2, 2)), nn.ReLU6(), nn.ELU(0.5), nn.LogSoftmax(1), nn.Softplus(2.0, 3.0),
    )),
    *((one, LINE) for one in (
        nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1), nn.InstanceNorm1d(4, affine=True), nn.AvgPool1d(3),
        nn.AdaptiveAvgPool1d(4), nn.AdaptiveMaxPool1d(4), nn.LPPool1d(2.0, 3), nn.ZeroPad1d((1, 2)),
        nn.CircularPad1d(2), nn.ConstantPad1d(1, 0.5), nn.ReflectionPad1d(2), nn.ReplicationPad1d((2, 0)),
        nn.Dropout1d(0.3), nn.Upsample(12),
    )),
    *((one, PLANE) for one in (
        nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, groups=2), nn.InstanceNorm2d(4, track_running_stats=True),
        nn.Softmax2d(), nn.LocalResponseNorm(3), nn.AdaptiveMaxPool2d((3, None)), nn.LPPool2d(1.5, 2, ceil_mode=True),
        nn.ZeroPad2d(1), nn.CircularPad2d((1, 0, 2, 1)), nn.ConstantPad2d((1, -1, 0, 2), 3.0), nn.ReflectionPad2d(1),
        nn.ReplicationPad2d(2), nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2), nn.Dropout2d(0.3),
        nn.Upsample(scale_factor=2.0, mode="bilinear", align_corners=True), nn.UpsamplingNearest2d(scale_factor=2),
        nn.UpsamplingBilinear2d(size=(5, 7)), nn.Unfold(3, padding=1), nn.FeatureAlphaDropout(0.2),
    )),
    *((one, BLOCK) for one in (
        nn.ConvTranspose3d(4, 2, 2), nn.InstanceNorm3d(4), nn.AvgPool3d(2, divisor_override=3), nn.MaxPool3d(2),
        nn.AdaptiveAvgPool3d(3), nn.AdaptiveMaxPool3d(2), nn.LPPool3d(2.0, 2), nn.ZeroPad3d(1), nn.CircularPad3d(1),
        nn.ConstantPad3d(1, 2.0), nn.ReflectionPad3d(1), nn.ReplicationPad3d(1), nn.Dropout3d(0.5),
    )),
    (nn.InstanceNorm2d(4), rows(4, 8, 6)),
    (nn.Fold((5, 6), 3), rows(2, 27, 12)),
    *((one, numbers(3, 4)) for one in (
        nn.L1Loss(), nn.SmoothL1Loss(beta=0.5), nn.HuberLoss(delta=0.5),
        nn.KLDivLoss(reduction="batchmean", log_target=True), nn.PoissonNLLLoss(), nn.CosineSimilarity(),
        nn.PairwiseDistance(1.0, keepdim=True),
    )),
    *((one, shares(3, 4)) for one in (
        nn.BCELoss(weight=wb.rand(4)), nn.BCEWithLogitsLoss(pos_weight=wb.rand(4)), nn.MultiLabelSoftMarginLoss(),
    )),
    *((one, signs) for one in (nn.HingeEmbeddingLoss(0.5), nn.SoftMarginLoss(reduction="none"))),
    *((one, classes) for one in (nn.NLLLoss(weight=wb.rand(4), ignore_index=0), nn.MultiMarginLoss(p=2, margin=0.5))),
    (nn.MultiLabelMarginLoss(), lambda: (wb.randn(2, 3), wb.tensor([[1, -1, 0], [0, 2, -1]]))),
    (nn.GaussianNLLLoss(full=True), lambda: (wb.randn(3, 2), wb.randn(3, 2), wb.rand(3, 2))),
    (nn.CosineEmbeddingLoss(0.2), pairs),
    (nn.MarginRankingLoss(0.2), lambda: (wb.randn(3), wb.randn(3), wb.tensor([1, -1, 1]))),
    (nn.TripletMarginLoss(0.3, swap=True), lambda: (wb.randn(3, 4), wb.randn(3, 4), wb.randn(3, 4))),
    (nn.EmbeddingBag(9, 4, mode="max"), lambda: (wb.tensor([[1, 2], [3, 8]]),)),
    (nn.EmbeddingBag(9, 4, mode="sum"), lambda: (wb.tensor([1, 2, 3]), wb.tensor([0, 2]), wb.rand(3))),
    (nn.MaxUnpool1d(2), lambda: nn.functional.max_pool1d(wb.randn(2, 3, 8), 2, return_indices=True)),
    (nn.MaxUnpool2d(2), lambda: (
        *nn.functional.max_pool2d(wb.randn(2, 3, 7, 6), 2, return_indices=True), [2, 3, 7, 6],
    )),
    (nn.MaxUnpool3d(2), lambda: nn.functional.max_pool3d(wb.randn(1, 3, 4, 4, 4), 2, return_indices=True)),
    (nn.SyncBatchNorm(4), rows(2, 4, 9)),
    (nn.Bilinear(4, 3, 2), lambda: (wb.randn(5, 4), wb.randn(5, 3))),
    (nn.CTCLoss(), lambda: (
        wb.randn(6, 2, 4).log_softmax(2), wb.tensor([[1, 2], [3, 1]]), wb.tensor([6, 5]), wb.tensor([2, 2]),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("layer", "inputs"), LAYERS_OF, ids=lambda one: type(one).__name__)
def test_a_layer_is_scripted_and_kept(layer: nn.Module, inputs: Callable[[], tuple[Any, ...]]) -> None:
    given = inputs()
    layer.eval()
    scripted = wb.jit.script(layer)
    assert not [node for node, _ in scripted.graph.walk() if isinstance(node.callee, LeafModule)]
    with wb.no_grad():
        wanted = layer(*given)
        for one in (scripted, saved(scripted)):
            found = one(*given)
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "layer",
    [nn.Dropout1d(0.4), nn.AlphaDropout(0.4), nn.FeatureAlphaDropout(0.4), nn.RReLU()],
    ids=lambda one: type(one).__name__,
)
def test_a_layer_draws_what_it_draws(layer: nn.Module) -> None:
    x, scripted = wb.randn(3, 4, 5), wb.jit.script(layer.train())
    for one in (layer, layer.eval()):
        scripted.train(one.training)
        wb.manual_seed(3)
        wanted = one(x)
        wb.manual_seed(3)
        np.testing.assert_array_equal(scripted(x).numpy(), wanted.numpy())


def test_statistics_of_instances_are_kept() -> None:
    layer, x = nn.InstanceNorm2d(4, affine=True, track_running_stats=True).train(), wb.randn(2, 4, 8, 6)
    scripted = saved(wb.jit.script(layer))
    for _ in range(2):
        np.testing.assert_allclose(
            scripted(x).detach().numpy(), layer(x).detach().numpy(), rtol=1e-5, atol=1e-6
        )
    for name, one in layer.state_dict().items():
        np.testing.assert_allclose(scripted.state_dict()[name].numpy(), one.numpy(), rtol=1e-6, atol=1e-7)


WHOLE = [
    "AdaptiveLogSoftmaxWithLoss", "CrossMapLRN2d", "DataParallel", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LinearCrossEntropyLoss", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase",
    "RNNCellBase", "Sequential", "TripletMarginWithDistanceLoss",
]  # fmt: skip
"""Bases and containers, and layers that draw places by themselves, or hold a function of the program's."""


def test_every_other_layer_has_words() -> None:
    every = {one for one in vars(nn).values() if isinstance(one, type) and issubclass(one, nn.Module)}
    written = {cls for cls, _ in LAYERS._written}
    assert sorted(one.__name__ for one in every - written if "Lazy" not in one.__name__) == WHOLE
