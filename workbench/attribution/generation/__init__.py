"""Text that a model writes token by token: which part of the prompt caused which token."""

from __future__ import annotations

from workbench.attribution.generation.attribution import LLMAttribution, LLMGradientAttribution
from workbench.attribution.generation.image_input import ImageMaskInput
from workbench.attribution.generation.inputs import InterpretableInput, TextTemplateInput, TextTokenInput
from workbench.attribution.generation.result import LLMAttributionResult
from workbench.base.public import words

__all__ = [
    "ImageMaskInput",
    "InterpretableInput",
    "LLMAttribution",
    "LLMAttributionResult",
    "LLMGradientAttribution",
    "TextTemplateInput",
    "TextTokenInput",
]

__getattr__, __dir__ = words(__name__, __all__)
