"""What is measured: the notebook's own work, against PyTorch doing the same."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.ao import quantization as torch_quantization

import workbench as wb
from tests.bench.attribution_cases import attribution_cases
from tests.bench.compiled_cases import compiled_cases
from tests.bench.data_cases import data_cases
from tests.bench.embedding_cases import embedding_cases
from tests.bench.file_cases import event_cases, file_cases
from tests.bench.graph_cases import graph_cases
from tests.bench.measure import Case, Work
from tests.bench.observing_cases import observing_cases
from tests.bench.perturbation_cases import perturbation_cases
from tests.bench.quantized_cases import quantized_cases
from tests.bench.quantized_graph_cases import quantized_graph_cases
from tests.bench.small_calls import small_call_cases
from tests.bench.small_cases import small_cases
from tests.bench.tensor_cases import tensor_cases
from tests.bench.training_cases import training_cases
from workbench.base import events
from workbench.live.encode import encode_snapshot
from workbench.live.throttle import Throttle
from workbench.models.digits import DigitsNet
from workbench.widgets.histogram import HistogramModel

BATCH = 64


def torch_digits() -> torch.nn.Module:
    """The notebook's network in PyTorch."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(3136, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def images(count: int) -> np.ndarray[Any, Any]:
    """Random images [N, 1, 28, 28]."""
    return np.random.default_rng(0).standard_normal((count, 1, 28, 28)).astype(np.float32)


def _train() -> tuple[Work, Work]:
    data, labels = images(BATCH), np.arange(BATCH) % 10
    ours, theirs = DigitsNet().train(), torch_digits().train()
    our_optimizer = wb.optim.Adam(ours.parameters(), lr=1e-3)
    their_optimizer = torch.optim.Adam(theirs.parameters(), lr=1e-3)
    x, target = wb.tensor(data, names=("N", "C", "H", "W")), wb.tensor(labels)
    tx, their_target = torch.from_numpy(data), torch.from_numpy(labels)

    def our_step() -> None:
        our_optimizer.zero_grad()
        wb.cross_entropy(ours(x), target).backward()
        our_optimizer.step()

    def their_step() -> None:
        their_optimizer.zero_grad()
        torch.nn.functional.cross_entropy(theirs(tx), their_target).backward()
        their_optimizer.step()

    return our_step, their_step


def _forward(count: int) -> Callable[[], tuple[Work, Work]]:
    def make() -> tuple[Work, Work]:
        data = images(count)
        ours, theirs = DigitsNet().eval(), torch_digits().eval()
        x, tx = wb.tensor(data, names=("N", "C", "H", "W")), torch.from_numpy(data)

        def our_forward() -> None:
            with wb.no_grad():
                ours(x)

        def their_forward() -> None:
            with torch.no_grad():
                theirs(tx)

        return our_forward, their_forward

    return make


FUSED = [["conv1", "bn1", "relu1", "pool1"], ["conv2", "bn2", "relu2", "pool2"], ["fc1", "relu3"]]


@functools.cache
def trained() -> DigitsNet:
    """Our network after one pass over the digits: how fast integer sums are depends on the weights."""
    wb.manual_seed(0)
    model = DigitsNet()
    loader = wb.data.DataLoader(wb.data.digits().train, batch_size=BATCH, shuffle=True)
    wb.train.fit(model, loader, wb.optim.Adam(model.parameters(), lr=1e-3), progress=False)
    return model.eval()


def prepared(model: DigitsNet | None = None) -> Any:
    """Our network, trained unless another is given, fused and prepared for calibration."""
    q = wb.quantization
    return q.prepare(q.fuse_modules(model or trained(), FUSED), q.get_default_qconfig("x86"))


def _digits() -> wb.Tensor:
    batch: wb.Tensor = wb.data.digits().test[:BATCH][0]
    return batch


def _fp32_ours(model: DigitsNet | None = None) -> Work:
    model, x = model or trained(), _digits()

    def forward() -> None:
        with wb.no_grad():
            model(x)

    return forward


def _int8_ours(network: DigitsNet | None = None) -> Work:
    model, x = prepared(network), _digits()
    with wb.no_grad():
        model(x)
    model = wb.quantization.convert(model)

    def forward() -> None:
        with wb.no_grad():
            model(x)

    return forward


def _int8_theirs() -> Work:
    q = torch_quantization
    torch.backends.quantized.engine = "x86"
    model = torch.nn.Sequential(q.QuantStub(), *torch_digits().eval(), q.DeQuantStub()).eval()
    fused = q.fuse_modules(model, [["1", "2", "3"], ["5", "6", "7"], ["10", "11"]])
    fused.qconfig = q.get_default_qconfig("x86")
    x = torch.from_numpy(_digits().numpy())
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        ready = q.prepare(fused)
        ready(x)
        converted = q.convert(ready)

    def forward() -> None:
        with torch.no_grad():
            converted(x)

    return forward


def _calibration(watched: bool) -> Callable[[], tuple[Work, Work]]:
    """A calibration run with a listener that draws against one without; or with nobody there against no bus."""

    def make() -> tuple[Work, Work]:
        models = [wb.quantization.Calibration(prepared()) for _ in range(2)]
        if not watched:
            for entry in models[1].entries:
                entry.observer.watch(None)  # these have nobody to tell at all
        batches = [
            wb.tensor(images(BATCH), names=("N", "C", "H", "W"))
        ] * 24  # long enough for pictures to be due

        def run(calibration: Any) -> None:
            with wb.no_grad():
                for batch in batches:
                    calibration.model(batch)

        view = HistogramModel(models[0])
        pictures = Throttle()

        def heard(source: object) -> None:
            pictures.request(view.id, lambda: encode_snapshot(view.view, view.snapshot()))

        def watched_run() -> None:
            stop = events.subscribe(wb.quantization.Calibration, heard) if watched else None
            try:
                run(models[0])
            finally:
                if stop is not None:
                    stop()

        return watched_run, lambda: run(models[1])

    return make


def core_cases() -> Iterator[Case]:
    """Rows of tensors, training, graphs and quantization."""
    yield from tensor_cases()
    yield from training_cases()
    yield from small_cases()
    yield from small_call_cases()
    yield from data_cases()
    yield from graph_cases()
    yield from compiled_cases()
    yield Case("training step, batch 64", "torch", 1.2, _train)
    yield Case("fp32 forward, batch 1", "torch", 1.0, _forward(1))
    yield Case("fp32 forward, batch 64", "torch", 1.0, _forward(64))
    yield Case("int8 forward, batch 64, trained", "own fp32", 0.5, lambda: (_int8_ours(), _fp32_ours()))
    fresh = DigitsNet().eval()
    yield Case(
        "int8 forward, batch 64, fresh weights",
        "own fp32",
        0.5,
        lambda: (_int8_ours(fresh), _fp32_ours(fresh)),
    )
    yield Case("int8 forward, batch 64, trained", "torch int8", 1.0, lambda: (_int8_ours(), _int8_theirs()))
    yield from quantized_cases()
    yield from file_cases()
    yield from quantized_graph_cases()
    yield from observing_cases()
    yield Case("calibration, watched live", "not watched", 1.05, _calibration(True))
    yield Case("calibration, nobody listening", "no bus at all", 1.02, _calibration(False))


def _attribution() -> Iterator[Case]:
    yield from attribution_cases()
    yield from perturbation_cases()


def _embedding() -> Iterator[Case]:
    yield from embedding_cases()
    yield from event_cases()


TABLES: dict[str, Callable[[], Iterator[Case]]] = {
    "core": core_cases,
    "attribution": _attribution,
    "embedding": _embedding,
}
"""The README's tables, and their rows in order. Each stands with the machine that it was measured on."""
