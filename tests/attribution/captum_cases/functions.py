"""The functions that Captum's tests give to methods, in words of our own, by the test that has them.

What a function takes from around it, a network as a rule, comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import workbench as wb

__all__ = ["FUNCTIONS"]


def _sum(*inputs: Any) -> Any:
    return wb.cat([one.flatten(1) for one in inputs], 1).sum(1)


def _four_rows(count: int) -> Callable[[Any], Any]:
    return lambda x: wb.arange(0.0, x.shape[1] * count).reshape(count, x.shape[1])


def _times(factor: float) -> Callable[..., Any]:
    return lambda multipliers, inputs=None, baselines=None: tuple(one * factor for one in multipliers)


def _two_rows() -> Any:
    return tuple(wb.tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]) for _ in range(2))


def _hypothetical(multipliers: Any, inputs: Any, baselines: Any) -> Any:
    """What each channel would contribute if it alone were 1: inputs are [N, length, channel]."""
    found = []
    for multiplier, one, baseline in zip(multipliers, inputs, baselines, strict=True):
        alone = wb.eye(one.shape[-1])[:, None, None]
        found.append(((alone - baseline) * multiplier).sum(-1).permute(1, 2, 0))
    return tuple(found)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "test_layer_deeplift:TestDeepLift.test_inplace_maxpool_relu_with_custom_attr_func.custom_att_func": _times(
        1
    ),
    "test_layer_deeplift:TestDeepLift._relu_custom_attr_func_assert.custom_attr_func": _times(2),
    "test_layer_gradient_shap:Test.test_classification.custom_baseline_fn": _four_rows(4),
    "test_layer_integrated_gradients:Test.test_multiple_layers_multiple_input_outputs.<lambda>": lambda x, y: (
        x + y
    ),
    "test_layer_integrated_gradients:Test.test_multiple_layers_multiple_inputs_shared_input.<lambda>": (
        lambda x, y: x + y
    ),
    "test_neuron_ablation:Test.test_multi_sample_ablation_with_selector_fn.<lambda>": lambda x: x.sum(1),
    "test_neuron_conductance:Test.test_layer_tuple_selector_fn.<lambda>": lambda x: x[0][:, 1],
    "test_neuron_conductance:Test.test_simple_conductance_input_linear1_selector_fn.<lambda>": lambda x: x[
        :, 0
    ],
    "test_neuron_deeplift:Test.test_linear_neuron_deeplift_shap_wo_inp_marginal_effects.<lambda>": lambda x: (
        x[:, 0]
    ),
    "test_neuron_deeplift:Test._relu_custom_attr_func_assert.custom_attr_func": _times(0),
    "test_neuron_gradient:Test.test_simple_gradient_input_relu_selector_fn.<lambda>": lambda x: x.sum(),
    "test_neuron_gradient_shap:Test.test_basic_multilayer_wo_mult_by_inputs_agg_neurons.<lambda>": lambda x: (
        x[:, 0:1]
    ),
    "test_neuron_gradient_shap:Test.test_classification.custom_baseline_fn": _four_rows(5),
    "test_neuron_integrated_gradients:Test.test_simple_ig_input_relu_selector_fn.<lambda>": lambda x: x[
        :, 2:
    ].sum(),
    "test_neuron_integrated_gradients:Test.test_simple_ig_multi_input_relu_batch_selector_fn.<lambda>": (
        lambda x: x.sum()
    ),
    "test_deeplift_basic:Test.test_relu_deepliftshap_baselines_as_func.gen_baselines": _two_rows,
    "test_deeplift_basic:Test.test_relu_deepliftshap_with_custom_attr_func.custom_attr_func": _times(0),
    "test_deeplift_basic:_hypothetical_contrib_func": _hypothetical,
    "test_dataloader_attr:sum_forward": _sum,
    "test_feature_ablation:Test.test_multi_input_ablation_with_int_input_tensor_and_float_baseline.sum_forward": _sum,
}
