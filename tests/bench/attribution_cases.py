"""Attributions against Captum's, on the network of its own figures and on a ResNet-50."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import workbench as wb
from tests.bench.attribution_networks import of_a_class, residual, small
from tests.bench.measure import Case, Work
from tests.bench.memory_cases import MemoryCase, apart

__all__ = ["attribution_cases"]


def _captum() -> Any:
    """Return Captum's methods; not everybody has it installed."""
    return importlib.import_module("captum.attr")


def _image() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).random((1, 1, 28, 28), np.float32)


def _method(name: str, network: Callable[[Any], Any] = small, **settings: Any) -> tuple[Work, Work]:
    wb.manual_seed(0)
    ours, theirs = network(wb), network(torch)
    image = _image()
    x, y = wb.from_numpy(image), torch.from_numpy(image).requires_grad_()
    first, second = getattr(wb.attribution, name)(ours), getattr(_captum(), name)(theirs)
    return (
        lambda: first.attribute(x, target=3, **settings),
        lambda: second.attribute(y, target=3, **settings),
    )


def _gradient_shap() -> tuple[Work, Work]:
    ours, theirs = small(wb), small(torch)
    image = _image()
    x, y = wb.from_numpy(image), torch.from_numpy(image).requires_grad_()
    baselines = np.zeros((8, 1, 28, 28), np.float32)
    first, second = wb.attribution.GradientShap(ours), _captum().GradientShap(theirs)
    b, c = wb.from_numpy(baselines), torch.from_numpy(baselines)
    return (
        lambda: first.attribute(x, b, n_samples=20, target=3),
        lambda: second.attribute(y, c, n_samples=20, target=3),
    )


def _grad_cam() -> tuple[Work, Work]:
    ours, theirs = small(wb), small(torch)
    image = _image()
    x, y = wb.from_numpy(image), torch.from_numpy(image)
    first = wb.attribution.LayerGradCam(ours, ours[3])
    second = _captum().LayerGradCam(theirs, theirs[3])
    return (lambda: first.attribute(x, target=3), lambda: second.attribute(y, target=3))


def _deep_lift() -> tuple[Work, Work]:
    ours, theirs = small(wb), small(torch)
    image = _image()
    x, y = wb.from_numpy(image), torch.from_numpy(image).requires_grad_()
    first, second = wb.attribution.DeepLift(ours), _captum().DeepLift(theirs)
    return (lambda: first.attribute(x, target=3), lambda: _quietly(second.attribute, y, target=3))


class _Functional(torch.nn.Module):
    """The same network, flattened by a function: Captum's LRP refuses the layer."""

    def __init__(self, layers: Any) -> None:
        super().__init__()
        self.features, self.last = layers[:6], layers[7]

    def forward(self, x: Any) -> Any:
        return self.last(self.features(x).flatten(1))


def _lrp() -> tuple[Work, Work]:
    ours, theirs = small(wb), _Functional(small(torch))
    image = _image()
    x, y = wb.from_numpy(image), torch.from_numpy(image).requires_grad_()
    first, second = wb.attribution.LRP(ours), _captum().LRP(theirs)
    return (lambda: first.attribute(x, target=3), lambda: _quietly(second.attribute, y, target=3))


def _quietly(work: Any, *arguments: Any, **settings: Any) -> Any:
    """Call what warns of hooks each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work(*arguments, **settings)


def _residual() -> tuple[Work, Work]:
    image = np.random.default_rng(0).random((1, 3, 224, 224), np.float32)
    ours, theirs = wb.compile(residual(wb)), residual(torch)
    x, y = wb.from_numpy(image), torch.from_numpy(image)
    first, second = wb.attribution.IntegratedGradients(ours), _captum().IntegratedGradients(theirs)
    # Captum is as fast with a few rows at once as with all, and takes a tenth of the memory.
    return (
        lambda: first.attribute(x, target=3, n_steps=50),
        lambda: second.attribute(y, target=3, n_steps=50, internal_batch_size=4),
    )


def attribution_cases() -> Iterator[Case]:
    """Yield the rows."""
    made: dict[str, Any] = {
        "Saliency": functools.partial(_method, "Saliency"),
        "GradientShap(20)": _gradient_shap,
        "IntegratedGradients(50)": functools.partial(_method, "IntegratedGradients", n_steps=50),
        "LayerGradCam": _grad_cam,
        "DeepLift": _deep_lift,
        "LRP": _lrp,
    }
    for name, make in made.items():
        yield Case(f"{name} of a small network, one picture", "Captum", 0.7, make, needs="captum")
    yield Case(
        "Saliency of the same network as a class, one picture",
        "Captum",
        0.7,
        functools.partial(_method, "Saliency", of_a_class),
        needs="captum",
    )
    yield Case(
        "IntegratedGradients(50) of ResNet-50, one picture, compiled",
        "Captum",
        0.7,
        _residual,
        rounds=3,
        needs="captum",
    )
    yield MemoryCase(
        "peak memory, IntegratedGradients(50) of ResNet-50, compiled", "Captum", 0.7, apart, rounds=3, unit="B",
        needs="captum", module="tests.bench.attribution_memory",
    )  # fmt: skip
