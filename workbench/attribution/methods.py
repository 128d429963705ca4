"""The attribution methods that can be asked for by name."""

from __future__ import annotations

from workbench.attribution.base import Attribution
from workbench.attribution.deep_lift import DeepLift, DeepLiftShap
from workbench.attribution.gradient_shap import GradientShap
from workbench.attribution.guided import Deconvolution, GuidedBackprop, GuidedGradCam
from workbench.attribution.input_x_gradient import InputXGradient
from workbench.attribution.integrated_gradients import IntegratedGradients
from workbench.attribution.layer.activation import LayerActivation
from workbench.attribution.layer.conductance import LayerConductance
from workbench.attribution.layer.deep_lift import LayerDeepLift, LayerDeepLiftShap
from workbench.attribution.layer.grad_cam import LayerGradCam
from workbench.attribution.layer.gradient_shap import LayerGradientShap
from workbench.attribution.layer.gradients import LayerGradientXActivation
from workbench.attribution.layer.integrated_gradients import LayerIntegratedGradients
from workbench.attribution.layer.internal_influence import InternalInfluence
from workbench.attribution.layer.lrp import LayerLRP
from workbench.attribution.lrp import LRP
from workbench.attribution.neuron.conductance import NeuronConductance
from workbench.attribution.neuron.deep_lift import NeuronDeepLift, NeuronDeepLiftShap
from workbench.attribution.neuron.gradient import NeuronGradient
from workbench.attribution.neuron.gradient_shap import NeuronGradientShap
from workbench.attribution.neuron.guided import NeuronDeconvolution, NeuronGuidedBackprop
from workbench.attribution.neuron.integrated_gradients import NeuronIntegratedGradients
from workbench.attribution.noise_tunnel import SmoothGrad
from workbench.attribution.perturbation.ablation import FeatureAblation
from workbench.attribution.perturbation.kernel_shap import KernelShap
from workbench.attribution.perturbation.layer_ablation import LayerFeatureAblation, LayerFeaturePermutation
from workbench.attribution.perturbation.lime import Lime
from workbench.attribution.perturbation.neuron_ablation import NeuronFeatureAblation
from workbench.attribution.perturbation.occlusion import Occlusion
from workbench.attribution.perturbation.permutation import FeaturePermutation
from workbench.attribution.perturbation.shapley import ShapleyValues, ShapleyValueSampling
from workbench.attribution.saliency import Saliency

__all__ = ["METHODS", "name_of"]

METHODS: dict[str, type[Attribution]] = {
    "integrated_gradients": IntegratedGradients,
    "saliency": Saliency,
    "input_x_gradient": InputXGradient,
    "gradient_shap": GradientShap,
    "smooth_grad": SmoothGrad,
    "occlusion": Occlusion,
    "feature_ablation": FeatureAblation,
    "feature_permutation": FeaturePermutation,
    "shapley_values": ShapleyValues,
    "shapley_value_sampling": ShapleyValueSampling,
    "lime": Lime,
    "kernel_shap": KernelShap,
    "lrp": LRP,
    "guided_backprop": GuidedBackprop,
    "deconvolution": Deconvolution,
    "guided_grad_cam": GuidedGradCam,
    "deep_lift": DeepLift,
    "deep_lift_shap": DeepLiftShap,
    "layer_activation": LayerActivation,
    "layer_conductance": LayerConductance,
    "layer_deep_lift": LayerDeepLift,
    "layer_deep_lift_shap": LayerDeepLiftShap,
    "layer_feature_ablation": LayerFeatureAblation,
    "layer_feature_permutation": LayerFeaturePermutation,
    "layer_grad_cam": LayerGradCam,
    "layer_gradient_shap": LayerGradientShap,
    "layer_gradient_x_activation": LayerGradientXActivation,
    "layer_integrated_gradients": LayerIntegratedGradients,
    "layer_lrp": LayerLRP,
    "internal_influence": InternalInfluence,
    "neuron_conductance": NeuronConductance,
    "neuron_deconvolution": NeuronDeconvolution,
    "neuron_deep_lift": NeuronDeepLift,
    "neuron_deep_lift_shap": NeuronDeepLiftShap,
    "neuron_feature_ablation": NeuronFeatureAblation,
    "neuron_gradient": NeuronGradient,
    "neuron_gradient_shap": NeuronGradientShap,
    "neuron_guided_backprop": NeuronGuidedBackprop,
    "neuron_integrated_gradients": NeuronIntegratedGradients,
}
"""By name: what `explain`, a study and a board are asked for."""


def name_of(method: object) -> str | None:
    """Return the name by which a method is asked for, given that or its class; None where it has none.

    >>> name_of(Saliency), name_of("saliency"), name_of("saliancy")
    ('saliency', 'saliency', None)
    """
    if isinstance(method, str):
        return method if method in METHODS else None
    return next((name for name, kind in METHODS.items() if method is kind), None)
