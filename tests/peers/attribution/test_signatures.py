"""Programs written for Captum run with the import changed: every public name, and how each of them is called.

Read from Captum 0.9 itself. What differs is listed with its reason; a difference that is gone fails as well.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from tests.peers.attribution.signatures import callables, difference, offered

captum_attr = pytest.importorskip("captum.attr", reason="Captum is the judge here")

MODULES = {
    "captum.attr": "workbench.attribution",
    "captum.attr._utils.visualization": "workbench.attribution.visualization",
    "captum.metrics": "workbench.attribution.metrics",
    "captum.robust": "workbench.attribution.robust",
    "captum.concept": "workbench.attribution.concept",
    "captum.influence": "workbench.attribution.influence",
}

REMOTE = "asks a language model on another machine; nothing here goes to a network"
IMAGE_PROMPT = "a picture inside a prompt: no language model here takes pictures"
INSIDE = "a part of Captum's own workings that carries no underscore"
ONE_PASS = "statistics are read from running sums and keep none of their own"
FUTURES = "futures are PyTorch's for remote calls; `stop` ends a run, a Study answers beside the program"
BASE = "the base says nothing of arguments; each method names its own"

MISSING = {
    "LLMAttributionResult.plot_image_heatmap": IMAGE_PROMPT,
    "RemoteLLMAttribution": REMOTE,
    "RemoteLLMProvider": REMOTE,
    "VLLMProvider": REMOTE,
    "StatValue": "a type for annotations",
    "SummarizerSingleTensor": INSIDE,
    "Classifier.__init__": "the base of classifiers is made of nothing",
    "KernelShap.kernel_shap_perturb_generator": INSIDE,
    "KernelShap.kernel_shap_similarity_kernel": INSIDE,
    "LayerGradientXActivation.multiply_gradient_acts": INSIDE,
    "DataLoaderAttribution.has_convergence_delta": "it goes through a loader and is no method of one batch",
    "DataLoaderAttribution.get_name": "it goes through a loader and is no method of one batch",
    "LLMAttribution.has_convergence_delta": "it asks a method about a text and is none itself",
    "LLMAttribution.get_name": "it asks a method about a text and is none itself",
    "LLMGradientAttribution.has_convergence_delta": "it asks a method about a text and is none itself",
    "LLMGradientAttribution.get_name": "it asks a method about a text and is none itself",
}
"""What there is not, by its name."""

ENDINGS = {
    "attribute_future": FUTURES,
    "satisfies_attribute_criteria": INSIDE,
    "get": ONE_PASS,
    "init": ONE_PASS,
    "update": ONE_PASS,
}
"""Methods that no class has; `update` of statistics, not of summarizers."""

DIFFERENT = {
    "LLMAttribution.attribute": ("_inspect_forward is missing", "a switch for Captum's own debugging"),
    "LLMAttributionResult.__init__": (
        "inp is missing",
        "it is made by the method, and its parts are given by name",
    ),
    "Max.__init__": ("max_fn is missing", ONE_PASS),
    "Min.__init__": ("min_fn is missing", ONE_PASS),
    "Sum.__init__": ("add_fn is missing", ONE_PASS),
    "DataInfluence.influence": ("inputs must be given", BASE),
    "TracInCPBase.influence": ("unpack_inputs is missing", BASE),
    "TracInCPFastRandProj.influence": (
        "inputs must be given",
        "without inputs Captum fails on its first use of them",
    ),
}
"""What is called otherwise: the difference, and why."""


def names() -> list[tuple[str, str]]:
    return [(module, name) for module in MODULES for name in offered(importlib.import_module(module))]


def pair(module: str, name: str) -> tuple[Any, Any]:
    theirs = getattr(importlib.import_module(module), name)
    return theirs, getattr(importlib.import_module(MODULES[module]), name, None)


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_called_as_captums(module: str) -> None:
    wrong: dict[str, str] = {}
    for name, theirs in offered(importlib.import_module(module)).items():
        ours = getattr(importlib.import_module(MODULES[module]), name, None)
        if ours is None:
            wrong |= {} if name in MISSING else {name: "is missing"}
            continue
        known = dict(callables(name, ours))
        for path, one in callables(name, theirs):
            if path not in known:
                gone = path in MISSING or path.rpartition(".")[2] in ENDINGS
                wrong |= {} if gone else {path: "is missing"}
            elif (found := difference(one, known[path])) and DIFFERENT.get(path, ("",))[0] != found:
                wrong[path] = found
    assert not wrong


def test_no_difference_is_listed_that_is_gone() -> None:
    theirs, ours = {}, {}
    for module, name in names():
        both = pair(module, name)
        theirs |= {name: both[0], **dict(callables(name, both[0]))}
        ours |= {name: both[1], **dict(callables(name, both[1]))} if both[1] is not None else {}
    assert set(MISSING) <= set(theirs)
    assert not [name for name in MISSING if name in ours]
    assert not [name for name in ours if name.rpartition(".")[2] == "attribute_future"]
    assert {name: difference(theirs[name], ours[name]) for name in DIFFERENT} == {
        name: found for name, (found, _) in DIFFERENT.items()
    }
