"""The functions that Captum's tests give to methods, in words of our own, by the test that has them.

What a function takes from around it, a network as a rule, comes first, as `around` by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import workbench as wb
from workbench.attribution.metrics.sensitivity import default_perturb_func

__all__ = ["FUNCTIONS"]


def _sum(*inputs: Any) -> Any:
    return wb.cat([one.flatten(1) for one in inputs], 1).sum(1)


def _rows(count: int, wide: int) -> Any:
    return wb.arange(0.0, float(wide * count)).reshape(count, wide)


def _rows_like(count: int) -> Callable[[Any], Any]:
    return lambda x: _rows(count, x.shape[1])


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


def _squares(around: Any, *inputs: Any) -> Any:
    """The mean square by which sums of products of two columns miss the labels."""
    products = sum((one[:, :, 0] * one[:, :, 1]).sum(-1) for one in inputs)
    return ((products - around["labels"]) ** 2).mean()


def _of_network(name: str, make: Callable[[Any], Any]) -> Callable[..., Any]:
    def function(around: Any, *inputs: Any) -> Any:
        return make(around[name](*inputs))

    return function


def _of_whole_numbers(make: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda around, x: make(around["net"](x.float()))


def _with_ones(columns: int) -> Callable[[Any], Any]:
    return lambda output: wb.cat([output, wb.ones(len(output), columns)], -1)


def _checked_sum(around: Any, *inputs: Any) -> Any:
    assert len(inputs) == around["n_forward_inputs"]
    return _sum(*inputs)


def _checked_joined(around: Any, so_far: Any, output: Any, inputs: Any) -> Any:
    assert len(inputs) == around["n_inputs"]
    return output if so_far is None else wb.cat([so_far, output])


def _counted(so_far: Any, output: Any, inputs: Any) -> Any:
    total, count = so_far or (0, 0)
    return total + output.sum(), count + len(output)


def _each(inputs: Any, *functions: Callable[[Any], Any]) -> Any:
    """Return what the functions make of inputs, each its own if they are several."""
    if not isinstance(inputs, tuple):
        return functions[0](inputs)
    return tuple(function(one) for function, one in zip(functions, inputs, strict=True))


def _nearby(inputs: Any) -> Any:
    steps = _each(inputs, lambda x: wb.full_like(x, 0.0009), lambda x: wb.full_like(x, 0.0121))
    return steps, _each(inputs, lambda x: x - 0.0009, lambda x: x - 0.0121)


def _nothing(inputs: Any) -> Any:
    """All is taken away."""
    return _each(inputs, *[wb.ones_like] * 2), _each(inputs, *[wb.zeros_like] * 2)


ONE = wb.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
TWO = wb.tensor([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])


def _without(removed: Any, x: Any) -> Any:
    return removed, (1 - removed) * x


def _along(inputs: Any) -> Any:
    """Inputs with a ramp by hundredths added, which comes to 0 in the middle of each sample."""

    def moved(x: Any) -> Any:
        size = x[0].numel()
        return x + wb.arange(-size // 2, size // 2).reshape(x[0].shape).float() / 100

    return _each(inputs, moved, moved)


def _parts(original: Any, *others: Any) -> list[Any]:
    """Return inputs side by side with what belongs to each."""
    return list(zip(original, *others, strict=True)) if isinstance(original, tuple) else [(original, *others)]


def _switched(
    original: Any, *, feature_mask: Any, baselines: Any, num_interp_features: int, **others: Any
) -> Any:
    """Inputs of which each feature is at its baseline by a fair coin."""
    stays = wb.rand(num_interp_features) < 0.5
    made = tuple(
        wb.where(stays[mask], one, start) for one, mask, start in _parts(original, feature_mask, baselines)
    )
    return made if isinstance(original, tuple) else made[0]


def _switching(original: Any, **given: Any) -> Iterator[Any]:
    while True:
        yield _switched(original, **given)


def _switches(
    sample: Any, original: Any, *, feature_mask: Any, num_interp_features: int, **others: Any
) -> Any:
    """1 for each feature of which nothing has changed."""
    changed: set[int] = set()
    for was, now, mask in _parts(original, sample, feature_mask):
        other = np.abs(now.numpy() - was.numpy()) > 1e-3
        changed.update(np.broadcast_to(mask.numpy(), was.shape)[other].tolist())
    return wb.tensor([[float(number not in changed) for number in range(num_interp_features)]])


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "float": lambda output: output.sum().item(),
    "tensor_0d": lambda output: output.sum(),
    "tensor_1d": lambda output: output.sum().reshape(1),
    "tensor_int": lambda output: int(output.sum().item()),
    "int": lambda output: int(output.sum().item()),
    "tensor_expanded": lambda output: output.sum() + wb.tensor([0.0, 2.0, 3.0]),
}
"""One number of a whole batch, or three, by the word that ends the names of Captum's tests."""

OF_NETWORK = {
    "test_feature_ablation": (
        "single_ablation_batch",
        "multi_sample_ablation_batch",
        "multi_inp_ablation_batch",
        "mutli_inp_ablation_batch",
    ),
    "test_kernel_shap": ("single_kernel_shap", "multi_inp_kernel_shap"),
    "test_lime": ("single_lime", "multi_inp_lime"),
}
OF_SHAPLEY = (
    "single_shapley_batch",
    "single_shapley_int_batch",
    "multi_sample_shapley_batch",
    "multi_inp_shapley_batch",
    "mutli_inp_shapley_batch",
)


def _of_whole_batches() -> dict[str, Callable[..., Any]]:
    """Return the functions that give one number for a batch, of the network around them."""
    found = {}
    for kind, make in NUMBERS.items():
        for file, tests in OF_NETWORK.items():
            for test in tests:
                found[f"{file}:Test.test_{test}_scalar_{kind}.<lambda>"] = _of_network("net", make)
        for test in OF_SHAPLEY:
            name = f"test_shapley:Test.test_{test}_scalar_{kind}"
            found[f"{name}.func"] = _of_whole_numbers(make) if "_int_" in test else _of_network("net", make)
            found[f"{name}.<lambda>"] = _of_network("func_to_use", lambda output: output)
    return found


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_of_whole_batches(),
    "test_layer_deeplift:TestDeepLift.test_inplace_maxpool_relu_with_custom_attr_func.custom_att_func": _times(
        1
    ),
    "test_layer_deeplift:TestDeepLift._relu_custom_attr_func_assert.custom_attr_func": _times(2),
    "test_layer_gradient_shap:Test.test_classification.custom_baseline_fn": _rows_like(4),
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
    "test_neuron_gradient_shap:Test.test_classification.custom_baseline_fn": _rows_like(5),
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
    "test_dataloader_attr:Test.test_dl_attr_with_input_roles.forward": _checked_sum,
    "test_dataloader_attr:Test.test_dl_attr_with_input_roles.reduce": _checked_joined,
    "test_dataloader_attr:Test.test_dl_attr_with_reduce_and_to_metric.reduce": _counted,
    "test_dataloader_attr:Test.test_dl_attr_with_reduce_and_to_metric.to_metric": lambda sums: wb.stack(
        [sums[0] / sums[1], sums[0]]
    ),
    "test_feature_ablation:Test.test_error_agg_mode_arbitrary_output.forward_func": _of_network(
        "net", lambda output: wb.stack([output.sum(), output.max(), output.min()])
    ),
    "test_feature_ablation:Test.test_error_perturbations_per_eval_limit_batch_scalar.<lambda>": _of_network(
        "net", NUMBERS["float"]
    ),
    "test_feature_ablation:Test.test_multi_input_ablation_with_int_input_tensor_and_float_baseline.sum_forward": _sum,
    "test_feature_ablation:Test.test_single_inp_ablation_multi_output_aggr.forward_func": lambda x: x[:1],
    "test_feature_ablation:Test.test_single_inp_ablation_multi_output_aggr_mask_none.forward_func": (
        lambda x: x[:1]
    ),
    "test_feature_ablation:Test.test_single_inp_ablation_multi_output_aggr_non_standard.forward_func": (
        lambda x: x[:1]
    ),
    "test_feature_ablation:Test.test_unassociated_output_3d_tensor.forward_func": lambda x: wb.ones(
        1, 5, 3, 2
    ),
    "test_feature_ablation:Test.test_simple_ablation_int_to_float.wrapper_func": _of_network(
        "net", wb.Tensor.float
    ),
    "test_occlusion:Test.test_simple_multi_input_int_to_float.wrapper_func": _of_network(
        "net", wb.Tensor.float
    ),
    "test_gradient_shap:Test.test_classification_baselines_as_function.generate_baselines": (
        lambda around: _rows(4, around["num_in"])
    ),
    "test_gradient_shap:Test.test_classification_baselines_as_function.generate_baselines_with_inputs": (
        lambda inputs: _rows(2, inputs.shape[1])
    ),
    "test_gradient_shap:Test.test_classification_baselines_as_function.generate_baselines_returns_array": (
        lambda around: _rows(4, around["num_in"]).numpy()
    ),
    "test_feature_permutation:Test.test_broadcastable_masks.forward_func": lambda x: x.flatten(1).sum(1),
    "test_feature_permutation:Test.test_multi_input.forward_func": _squares,
    "test_feature_permutation:Test.test_multi_input_group_across_input_tensors.forward_func": _squares,
    "test_feature_permutation:Test.test_multiple_perturbations_per_eval.forward_func": lambda x: 1 - x,
    "test_feature_permutation:Test.test_single_input.forward_func": lambda x: x.sum(-1),
    "test_infidelity:_local_perturb_func": _nearby,
    "test_infidelity:_local_perturb_func_default": lambda inputs: _nearby(inputs)[1],
    "test_infidelity:_global_perturb_func1": _nothing,
    "test_infidelity:_global_perturb_func1_default": lambda inputs: _nothing(inputs)[1],
    "test_infidelity:Test.test_classification_infidelity_tpl_target_w_baseline.perturbed_func2": (
        lambda inputs, baselines: (wb.ones(*baselines.shape), baselines)
    ),
    "test_infidelity:Test.test_classification_infidelity_tpl_target_w_baseline.perturbed_func3": (
        lambda inputs, baselines: baselines
    ),
    "test_infidelity:Test.basic_multilayer_sensitivity_n._global_perturb_func2": lambda x: _without(TWO, x),
    "test_infidelity:Test.basic_multilayer_sensitivity_n._global_perturb_func3": lambda x: _without(ONE, x),
    "test_infidelity:Test.basic_multilayer_sensitivity_n._global_perturb_func3_custom": (
        lambda x: _without(ONE, x)[1]
    ),
    "test_sensitivity:_perturb_func": _along,
    "sensitivity:default_perturb_func": default_perturb_func,
    "test_lime:alt_perturb_func": _switched,
    "test_lime:alt_perturb_generator": _switching,
    "test_lime:alt_to_interp_rep": _switches,
    "test_shapley:Test.test_shapley_sampling_multi_task_output.forward_func": _of_network(
        "net1", _with_ones(2)
    ),
    "test_shapley:Test.test_shapley_sampling_multi_task_output_with_mask.forward_func": _of_network(
        "net1", _with_ones(1)
    ),
}
