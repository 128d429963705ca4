"""Models that are ready to be trained, or to take weights that others have trained."""

from __future__ import annotations

from workbench.base.public import words
from workbench.models.bert import BertEncoder, BertSettings, minilm
from workbench.models.digits import DigitsNet
from workbench.models.efficientnet import EfficientNetLite0, efficientnet_lite0
from workbench.models.imagenet import imagenet_input
from workbench.models.language import Vocabulary, WordLanguageModel, words_of
from workbench.models.lenet import LeNet
from workbench.models.mobilenet import MobileNetV2, mobilenet_v2
from workbench.models.resnet import ResNet, resnet18, resnet50
from workbench.models.vit import VisionTransformer, vit_small

__all__ = [
    "BertEncoder",
    "BertSettings",
    "DigitsNet",
    "EfficientNetLite0",
    "LeNet",
    "MobileNetV2",
    "ResNet",
    "VisionTransformer",
    "Vocabulary",
    "WordLanguageModel",
    "efficientnet_lite0",
    "imagenet_input",
    "minilm",
    "mobilenet_v2",
    "resnet18",
    "resnet50",
    "vit_small",
    "words_of",
]

__getattr__, __dir__ = words(__name__, __all__)
