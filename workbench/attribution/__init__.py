"""Why a model answers as it does: how much each value of an input contributed, and how far to trust that.

>>> import workbench as wb
>>> model = wb.models.DigitsNet().eval()
>>> images = wb.zeros(N=2, C=1, H=28, W=28)
>>> wb.attribution.Saliency(model).attribute(images, target=3).names
('N', 'C', 'H', 'W')
"""

from __future__ import annotations

from workbench.attribution.attention import attention_rollout, attention_weights
from workbench.attribution.base import (
    Attribution,
    ConvergenceWarning,
    GradientAttribution,
    InterruptedWarning,
    PerturbationAttribution,
)
from workbench.attribution.blurring import blurred
from workbench.attribution.board import Board, compare
from workbench.attribution.deep_lift import DeepLift, DeepLiftShap
from workbench.attribution.doubts import DoubtfulWarning
from workbench.attribution.embeddings import (
    EmbeddingWarning,
    InterpretableEmbeddingBase,
    TokenReferenceBase,
    configure_interpretable_embedding_layer,
    remove_interpretable_embedding_layer,
)
from workbench.attribution.evaluation import Forecast
from workbench.attribution.explain import explain
from workbench.attribution.generation.attribution import LLMAttribution, LLMGradientAttribution
from workbench.attribution.generation.baselines import ProductBaselines
from workbench.attribution.generation.image_input import ImageMaskInput
from workbench.attribution.generation.inputs import InterpretableInput, TextTemplateInput, TextTokenInput
from workbench.attribution.generation.result import LLMAttributionResult
from workbench.attribution.gradient_shap import GradientShap
from workbench.attribution.guided import Deconvolution, GuidedBackprop, GuidedGradCam
from workbench.attribution.heads import DetectionScores, SegmentationScores
from workbench.attribution.input_x_gradient import InputXGradient
from workbench.attribution.integrated_gradients import IntegratedGradients
from workbench.attribution.layer.activation import LayerActivation
from workbench.attribution.layer.base import LayerAttribution
from workbench.attribution.layer.conductance import LayerConductance
from workbench.attribution.layer.deep_lift import LayerDeepLift, LayerDeepLiftShap
from workbench.attribution.layer.grad_cam import LayerGradCam
from workbench.attribution.layer.gradient_shap import LayerGradientShap
from workbench.attribution.layer.gradients import LayerGradientXActivation
from workbench.attribution.layer.integrated_gradients import LayerIntegratedGradients
from workbench.attribution.layer.internal_influence import InternalInfluence
from workbench.attribution.layer.lrp import LayerLRP
from workbench.attribution.lrp import LRP
from workbench.attribution.modes import TrainingModeWarning
from workbench.attribution.neuron.base import NeuronAttribution
from workbench.attribution.neuron.conductance import NeuronConductance
from workbench.attribution.neuron.deep_lift import NeuronDeepLift, NeuronDeepLiftShap
from workbench.attribution.neuron.gradient import NeuronGradient
from workbench.attribution.neuron.gradient_shap import NeuronGradientShap
from workbench.attribution.neuron.guided import NeuronDeconvolution, NeuronGuidedBackprop
from workbench.attribution.neuron.integrated_gradients import NeuronIntegratedGradients
from workbench.attribution.noise_tunnel import NoiseTunnel, SmoothGrad
from workbench.attribution.perturbation.ablation import FeatureAblation
from workbench.attribution.perturbation.data_loader import DataLoaderAttribution, InputRole
from workbench.attribution.perturbation.features import FeatureMaskWarning
from workbench.attribution.perturbation.kernel_shap import KernelShap
from workbench.attribution.perturbation.layer_ablation import (
    LayerFeatureAblation,
    LayerFeaturePermutation,
)
from workbench.attribution.perturbation.lime import (
    Lime,
    default_from_interp_rep_transform,
    default_perturb_func,
)
from workbench.attribution.perturbation.lime_base import LimeBase
from workbench.attribution.perturbation.linear_models import Lasso, LinearModel, LinearRegression, Ridge
from workbench.attribution.perturbation.masks import feature_mask
from workbench.attribution.perturbation.neuron_ablation import NeuronFeatureAblation
from workbench.attribution.perturbation.occlusion import Occlusion
from workbench.attribution.perturbation.permutation import FeaturePermutation
from workbench.attribution.perturbation.shapley import ShapleyValues, ShapleyValueSampling
from workbench.attribution.perturbation.similarity import get_exp_kernel_similarity_function
from workbench.attribution.propagation.lrp_rules import (
    Alpha1_Beta0_Rule,
    AlphaBetaRule,
    EpsilonRule,
    FlatRule,
    GammaRule,
    IdentityRule,
    PropagationRule,
    WSquareRule,
    ZBoxRule,
    ZPlusRule,
)
from workbench.attribution.result import AttributionResult
from workbench.attribution.saliency import Saliency
from workbench.attribution.study import Study
from workbench.attribution.summaries import (
    MSE,
    ClassSummarizer,
    CommonStats,
    Count,
    Max,
    Mean,
    Min,
    StdDev,
    Sum,
    Summarizer,
    Var,
)
from workbench.base.public import words

__all__ = [
    "Attribution",
    "AttributionResult",
    "Board",
    "ConvergenceWarning",
    "DataLoaderAttribution",
    "DeepLift",
    "LRP",
    "Deconvolution",
    "GuidedBackprop",
    "GuidedGradCam",
    "LayerDeepLift",
    "LayerDeepLiftShap",
    "LayerLRP",
    "NeuronDeepLift",
    "NeuronDeepLiftShap",
    "NeuronDeconvolution",
    "NeuronGuidedBackprop",
    "Alpha1_Beta0_Rule",
    "AlphaBetaRule",
    "EpsilonRule",
    "FlatRule",
    "GammaRule",
    "IdentityRule",
    "PropagationRule",
    "WSquareRule",
    "ZBoxRule",
    "ZPlusRule",
    "DeepLiftShap",
    "DetectionScores",
    "DoubtfulWarning",
    "EmbeddingWarning",
    "FeatureAblation",
    "FeatureMaskWarning",
    "FeaturePermutation",
    "Forecast",
    "GradientAttribution",
    "GradientShap",
    "InputRole",
    "ImageMaskInput",
    "InputXGradient",
    "IntegratedGradients",
    "InternalInfluence",
    "InterpretableEmbeddingBase",
    "InterpretableInput",
    "InterruptedWarning",
    "KernelShap",
    "LLMAttribution",
    "LLMAttributionResult",
    "LLMGradientAttribution",
    "Lasso",
    "LayerActivation",
    "LayerAttribution",
    "LayerConductance",
    "LayerFeatureAblation",
    "LayerFeaturePermutation",
    "LayerGradCam",
    "LayerGradientShap",
    "LayerGradientXActivation",
    "LayerIntegratedGradients",
    "Lime",
    "LimeBase",
    "LinearModel",
    "LinearRegression",
    "NeuronAttribution",
    "NeuronConductance",
    "NeuronFeatureAblation",
    "NeuronGradient",
    "NeuronGradientShap",
    "NeuronIntegratedGradients",
    "NoiseTunnel",
    "Occlusion",
    "ProductBaselines",
    "Var",
    "Summarizer",
    "Sum",
    "StdDev",
    "Min",
    "Mean",
    "Max",
    "Count",
    "CommonStats",
    "ClassSummarizer",
    "MSE",
    "PerturbationAttribution",
    "Ridge",
    "Saliency",
    "SegmentationScores",
    "ShapleyValueSampling",
    "ShapleyValues",
    "SmoothGrad",
    "TextTemplateInput",
    "TextTokenInput",
    "TokenReferenceBase",
    "Study",
    "TrainingModeWarning",
    "attention_rollout",
    "attention_weights",
    "blurred",
    "configure_interpretable_embedding_layer",
    "default_from_interp_rep_transform",
    "default_perturb_func",
    "compare",
    "explain",
    "feature_mask",
    "get_exp_kernel_similarity_function",
    "remove_interpretable_embedding_layer",
]

# Later: pictures bring matplotlib with them, and few ask for the others.
LATER = ("concept", "influence", "metrics", "robust", "visualization")
__getattr__, __dir__ = words(__name__, __all__, later={name: f"{__name__}.{name}" for name in LATER})
