"""Modules that PyTorch's own database has not, and how all of them print, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")

MODULES = [
    "ReLU()", "ReLU(True)", "ReLU6(True)", "LeakyReLU(0.2)", "PReLU(3)", "RReLU(0.1, 0.3, True)", "ELU(2.0, True)",
    "CELU()", "SELU(True)", "GELU()", "SiLU()", "Mish(True)", "Hardtanh(-2, 2, True)", "Hardswish(True)",
    "Hardsigmoid(True)", "Hardshrink()", "Softshrink(0.3)", "Tanhshrink()", "Softplus()", "Softsign()", "Sigmoid()",
    "LogSigmoid()", "Tanh()", "Threshold(0.1, 20, True)", "GLU(1)", "Softmin(1)", "Softmax()", "Softmax2d()",
    "LogSoftmax(-1)", "Dropout(0.2)", "Dropout1d()", "Dropout2d()", "Dropout3d()", "AlphaDropout(0.1, True)",
    "FeatureAlphaDropout()", "Linear(2, 3)", "Bilinear(2, 3, 4, False)", "Embedding(4, 2, -1, 2.0, 1.0, True)",
    "EmbeddingBag(4, 2, 2.0, mode='max', padding_idx=1)", "CosineSimilarity()", "PairwiseDistance()", "Flatten()",
    "Unflatten(1, (2, 3))", "Identity(3)", "AdaptiveLogSoftmaxWithLoss(16, 20, [4, 9])", "L1Loss()", "MSELoss()",
    "CrossEntropyLoss()", "CrossEntropyLoss(torch.ones(3))", "NLLLoss()", "NLLLoss2d()", "PoissonNLLLoss()",
    "GaussianNLLLoss()", "KLDivLoss()", "BCELoss(torch.ones(2))", "BCEWithLogitsLoss(pos_weight=torch.ones(2))",
    "HingeEmbeddingLoss()", "MultiLabelMarginLoss()", "SmoothL1Loss()", "HuberLoss()", "SoftMarginLoss()",
    "MultiLabelSoftMarginLoss()", "CosineEmbeddingLoss()", "MarginRankingLoss()", "MultiMarginLoss()",
    "TripletMarginLoss()", "TripletMarginWithDistanceLoss()", "CTCLoss()", "LinearCrossEntropyLoss(3, 4)",
]  # fmt: skip


@pytest.mark.parametrize("words", MODULES)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_modules_print_and_keep_their_state_as_pytorch_does(words: str) -> None:
    other = eval("torch.nn." + words, {"torch": torch})
    mine = eval("torch.nn." + words, {"torch": wb})
    assert repr(mine) == repr(other)
    expected = {key: tuple(value.shape) for key, value in other.state_dict().items()}
    assert {key: tuple(value.shape) for key, value in mine.state_dict().items()} == expected
    public = {key for key in vars(other) if not key.startswith("_")}
    assert public <= set(vars(mine)) | set(dir(mine))


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


ROWS, PICKED = numbers(6, 4), np.array([0, 5, 2, 2, 1, 3])
ALTERNATIVES = [
    ("RReLU().eval()", (numbers(3, 4),)),
    ("Hardsigmoid()", (numbers(3, 4) * 4,)),
    ("CosineSimilarity(0)", (numbers(3, 4), numbers(3, 4, seed=1))),
    ("PairwiseDistance(1.5, keepdim=True)", (numbers(3, 4), numbers(3, 4, seed=1))),
    ("TripletMarginLoss(swap=True)", (numbers(3, 4), numbers(3, 4, seed=1), numbers(3, 4, seed=2))),
    ("TripletMarginWithDistanceLoss()", (numbers(3, 4), numbers(3, 4, seed=1), numbers(3, 4, seed=2))),
    ("NLLLoss2d(reduction='none')", (numbers(2, 3, 2, 2), np.array([[[0, 1], [2, 2]], [[1, 1], [0, 2]]]))),
    ("AdaptiveLogSoftmaxWithLoss(4, 20, [3, 9], 2.0)", (numbers(6, 4), np.array([0, 3, 8, 9, 19, 2]))),
    ("Embedding(6, 4, padding_idx=2, scale_grad_by_freq=True)", (PICKED,)),
    ("Embedding(6, 4, max_norm=1.0, norm_type=1.5)", (PICKED,)),
    ("EmbeddingBag(6, 4)", (PICKED, np.array([0, 2, 2]))),
    ("EmbeddingBag(6, 4, mode='max')", (PICKED.reshape(2, 3),)),
    # The row picked twice is the last one: PyTorch counts another row than it means to where it is not.
    (
        "EmbeddingBag(6, 4, mode='sum', scale_grad_by_freq=True)",
        (np.array([0, 1, 5, 5, 2, 3]), np.array([0, 2])),
    ),
    ("EmbeddingBag(6, 4, mode='mean', padding_idx=2)", (PICKED.reshape(3, 2),)),
    ("EmbeddingBag(6, 4, mode='sum', include_last_offset=True)", (PICKED, np.array([0, 1, 6]), numbers(6))),
    ("EmbeddingBag(6, 4, max_norm=0.5)", (PICKED, np.array([0, 3]))),
]


@pytest.mark.parametrize(("words", "arguments"), ALTERNATIVES)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_modules_that_the_database_has_not(words: str, arguments: tuple[Any, ...]) -> None:
    torch.manual_seed(0)
    other = eval("torch.nn." + words, {"torch": torch})
    mine = eval("torch.nn." + words, {"torch": wb})
    mine.load_state_dict({key: value.numpy().copy() for key, value in other.state_dict().items()})
    theirs = [torch.tensor(one, requires_grad=one.dtype.kind == "f") for one in arguments]
    own = [wb.tensor(one, requires_grad=one.dtype.kind == "f") for one in arguments]
    expected, found = other(*theirs), mine(*own)
    if isinstance(expected, tuple):
        np.testing.assert_allclose(found[1].detach().numpy(), expected[1].detach().numpy(), rtol=2e-5)
        expected, found = expected[0], found[0]
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=2e-5, atol=1e-6)
    expected.square().sum().backward()
    found.square().sum().backward()
    pairs = [*zip(own, theirs, strict=True), *zip(mine.parameters(), other.parameters(), strict=True)]
    for one, reference in pairs:
        assert (one.grad is None) == (reference.grad is None)
        if one.grad is not None:
            np.testing.assert_allclose(one.grad.numpy(), reference.grad.numpy(), rtol=1e-4, atol=1e-5)
    for (_, one), reference in zip(mine.named_parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(one.detach().numpy(), reference.detach().numpy(), rtol=1e-5)
