"""What is watched and rounded on its way: histograms, a calibration, a step of quantization-aware training."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.ao.quantization import HistogramObserver as TorchHistogramObserver

import workbench as wb
from tests.bench.measure import Case, Work

__all__ = ["observing_cases"]

VALUES = 1_000_000
quantization = wb.quantization


def _images(*shape: int) -> Any:
    return wb.from_numpy(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def _first_batch() -> tuple[Work, Work]:
    ours = _images(VALUES)
    theirs = torch.from_numpy(ours.numpy())
    return lambda: quantization.HistogramObserver()(ours), lambda: TorchHistogramObserver()(theirs)


def _later_batch() -> tuple[Work, Work]:
    ours = _images(VALUES)
    theirs = torch.from_numpy(ours.numpy())
    observers = quantization.HistogramObserver(), TorchHistogramObserver()
    return lambda: observers[0](ours), lambda: observers[1](theirs)


def _calibration() -> tuple[Work, Work]:
    """A batch through a prepared network, whose activations are kept as histograms, and through the plain one."""
    plain = wb.models.resnet18().eval()
    images = _images(8, 3, 112, 112)
    prepared = quantization.prepare_fx(plain, quantization.get_default_qconfig_mapping("x86"), (images,))

    def through(model: Any) -> Work:
        def run() -> None:
            with wb.no_grad():
                model(images)

        return run

    return through(prepared), through(plain)


def _step(model: Any, images: Any, labels: Any) -> Callable[[], None]:
    optimizer = wb.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        wb.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


def _aware() -> tuple[Work, Work]:
    images = _images(32, 3, 32, 32)
    labels = wb.from_numpy(np.random.default_rng(1).integers(0, 10, 32))
    plain = wb.models.resnet18(10).train()
    mapping = quantization.get_default_qat_qconfig_mapping("x86")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        aware = quantization.prepare_qat_fx(copy.deepcopy(plain), mapping, (images,))
    return _step(aware, images, labels), _step(plain, images, labels)


def observing_cases() -> Iterator[Case]:
    """Rows of the table."""
    yield Case("histogram observer, 1 M floats, first batch", "torch", 0.25, _first_batch)
    yield Case("histogram observer, 1 M floats, later batches", "torch", 0.25, _later_batch)
    yield Case(
        "calibration of ResNet-18 by histograms, 112×112, batch 8",
        "the plain forward",
        1.2,
        _calibration,
        rounds=9,
    )
    yield Case(
        "quantization-aware training step, ResNet-18, 32×32, batch 32", "own float32", 1.8, _aware, rounds=11
    )
