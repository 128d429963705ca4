"""The cases of Captum's own tests for attribution: its networks, arguments and expected values, as recorded.

`README.md` beside says which files of Captum these are, and which cases are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.attribution.captum_cases.cases import CASES, Case

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::workbench.attribution.{name}")
    for name in (
        "TrainingModeWarning",
        "ConvergenceWarning",
        "FeatureMaskWarning",
        "EmbeddingWarning",
        "robust.LossWarning",
    )
]

DRAWN = (
    "GradientShap",
    "Lime",
    "KernelShap",
    "Sampling",
    "NoiseTunnel",
    "Permutation",
    "default_perturb_func",
    '"random_start": true',
)
"""Methods that draw, functions and settings: there only what a test expects says what is right."""

ROUNDING = 6e-5
"""What float32 makes of sums of hundreds of values, as a share of the largest."""

ULPS = 2**-22
"""How two sums of float32 may differ that come near the largest of their terms, as a share of it."""

CHANCE = 0.03
"""How far other random numbers bring a mean over hundreds of draws, as a share of the largest."""

SEEDS = "what is expected is made of PyTorch's own few random numbers"
LARGE = "scores of a million in float32, of which a softmax sees the last digit; in float64 it agrees"
UNUSED = "a layer that the output does not rest on is refused by name, not given zeros"
EMPTY = "an input without values is refused by name; it can go along as a further argument"
SIDE_BY_SIDE = "inputs are samples side by side; a list of another length goes along as a further argument"
REUSED = "a module that runs twice is explained here, and refused there"
SUMS = "the relevance of a sum is shared out among its parts; there each part has all of it"
DROPPED = "a model in training mode is explained in evaluation mode; there its dropout goes on"
ROWS = "outputs of another number of rows than there are samples are refused; of which sample they are is unknown"
WHOLE = "a baseline that the type of its input does not have is refused; cast the input"
DIFFERENT: dict[str, str] = {
    "dataloader_attr::dl_attr_with_baseline": WHOLE,
    "deeplift_basic::reusable_modules": REUSED,
    "deeplift_classification::softmax_classification_batch_multi_baseline": LARGE,
    "deeplift_classification::softmax_classification_batch_zero_baseline": LARGE,
    "deeplift_classification::softmax_classification_multi_baseline": LARGE,
    "deeplift_classification::softmax_classification_zero_baseline": LARGE,
    "feature_ablation::empty_sparse_features": EMPTY,
    "feature_ablation::multi_input_ablation_with_int_input_tensor_and_float_baseline": WHOLE,
    "feature_ablation::sparse_features": SIDE_BY_SIDE,
    "feature_permutation::empty_sparse_features": EMPTY,
    "feature_permutation::sparse_features": SIDE_BY_SIDE,
    "grad_cam::relu_gradcam_with_unused_layer": UNUSED,
    "guided_grad_cam::improper_dims_multi_input_conv": "an input that no map can be laid over is refused, not left out",
    "guided_grad_cam::improper_method_multi_input_conv": "a way to resize that there is not is refused, not left out",
    "kernel_shap::multi_input_kernel_shap_with_empty_input": EMPTY,
    "layer_deeplift::relu_deeplift_with_unused_layer": UNUSED,
    "layer_gradient_shap::basic_multilayer#": SEEDS,
    "layer_gradient_shap::basic_multilayer_compare_w_inp_features#1": SEEDS,
    "layer_gradient_shap::basic_multilayer_with_add_args": SEEDS,
    "lime::multi_input_lime_with_empty_input": EMPTY,
    "lrp::lrp_ixg_equivalency": DROPPED,
    "lrp::lrp_multi_inputs": SUMS,
    "lrp::lrp_repeated_module": REUSED,
    "lrp::lrp_simple2_attributions": ROWS,
    "targets::target_basic_multi_input_multi_target_LRP": SUMS,
}  # fmt: skip
"""Cases with another answer here, or none, and why."""


def arrays(found: Any) -> list[np.ndarray[Any, Any]]:
    """Return all tensors of an answer as arrays, one after the other."""
    if isinstance(found, wb.Tensor):
        return [found.detach().numpy(force=True)]
    if isinstance(found, list | tuple):
        return [array for one in found for array in arrays(one)]
    return [np.asarray(found)]


def check(case: Case) -> None:
    if case.raises:
        with pytest.raises((TypeError, ValueError, RuntimeError, LookupError)):
            case.run()
        return
    wb.manual_seed(1234)
    found = case.run()
    ours, theirs = arrays(found), arrays(case.result())
    assert [one.shape for one in ours] == [one.shape for one in theirs]
    # Two samples can only change places.
    swapped = case.method == "FeaturePermutation" and theirs[0].shape[:1] == (2,)
    drawn = case.asks(*DRAWN) and not swapped
    # Deltas are differences of the rest, and round as that does.
    scale = max([1, *(np.abs(one).max(initial=0) for one in theirs)])
    for path, wanted, delta, mode in case.expected():
        part = found
        for place in path:
            part = part[place]
        miss = np.abs(arrays(part)[0].astype(np.float64) - wanted)
        allowed = max(delta, (CHANCE if drawn else ROUNDING) * scale)
        assert (miss.sum() if mode == "sum" else miss.max(initial=0)) <= allowed
    if not drawn:
        near = max(ROUNDING * scale, ULPS * case.largest_input() if swapped else 0)
        for mine, their in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, their, rtol=1e-3, atol=near)


def reason(case: Case) -> str | None:
    return next((why for name, why in DIFFERENT.items() if (case.name + "#").startswith(name)), None)


@pytest.mark.parametrize("case", [one for one in CASES if reason(one) is None], ids=lambda case: case.name)
def test_a_case(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_listed_as_different_is(name: str) -> None:
    cases = [one for one in CASES if (one.name + "#").startswith(name)]
    assert cases
    failures = 0
    for case in cases:
        try:
            check(case)
        except (AssertionError, TypeError, ValueError, RuntimeError, LookupError, pytest.fail.Exception):
            failures += 1
    assert failures
