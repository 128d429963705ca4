"""What layers of a model give, as points: gathered over a loader, within a limit of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from workbench.attribution.layer_values import Taken, run_layers
from workbench.attribution.layers import find_layer, find_part
from workbench.base.errors import DimensionError
from workbench.core import dispatch
from workbench.data.progress import progress as bar
from workbench.embedding.embedding import Embedding
from workbench.embedding.vectors import as_array
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["activations", "mistakes", "weights"]

Array = np.ndarray[Any, Any]

MEMORY = 1 << 30
"""Bytes of activations that are gathered where nobody says."""

SEQUENCE = ("T", "L", "S", "time")
"""What the second dim is called where it is places in a sequence, with channels behind it."""


def activations(
    model: Any,
    loader: Any,
    layer: Any,
    *,
    pool: str | None = None,
    images: bool = True,
    memory: int = MEMORY,
    progress: bool = True,
    label_name: str = "label",
) -> Embedding:
    """Return what `layer` gives for each sample of `loader` as an embedding, projected by nothing yet.

    `layer` is a module of the model, its dotted name, or a node of its graph. Batches are inputs, or pairs (inputs,
    labels), whose labels and pictures (inputs [N, C, H, W] with C 1 or 3) go along. Values of several dims become one
    vector a sample, or with ``pool="mean"`` or ``"max"`` one of channels, over all dims behind them. Sequences
    [N, T, D], whose second dim is named T, L, S or time, are pooled over that instead, to [N, D]; one without names is
    taken for channels [N, C, L]. The model runs in evaluation mode without gradients. An interrupt ends it, and what
    there is by then is returned; its title says so.

    Raises:
        MemoryError: all samples would take more than `memory` bytes; told before they are gathered where the loader
        says how
            many there are, and what would fit.
        ValueError: the model has no such layer, or the loader gives nothing.
        DimensionError: the layer's first dim is not the samples.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(3, 4), wb.nn.ReLU(), wb.nn.Linear(4, 2))
    >>> data = wb.data.TensorDataset(wb.eye(3), wb.tensor([0, 1, 0]))
    >>> activations(model, wb.data.DataLoader(data, batch_size=2), "1", progress=False)
    Embedding(3 points, 4 features, 2 labels)
    """
    gathered = _gather(model, loader, layer, "activations", pool, memory, progress, images)
    return gathered.embedding(label_name)


def mistakes(
    model: Any,
    loader: Any,
    layer: Any,
    *,
    only_wrong: bool = False,
    names: Sequence[str] | None = None,
    **settings: Any,
) -> Embedding:
    """Return `activations` with what the model made of each sample: columns true, predicted, wrong, probability and
    loss.

    The label of a point is what is true; `names` are those of the classes. With `only_wrong` the rest is left out.
    `probability` is that of the true class, and `loss` its negative logarithm. Batches are pairs (inputs, labels), the
    model's output scores [N, classes].

    Raises as `activations` does; ValueError where batches have no labels, or nothing is wrong with `only_wrong`.
    """
    label_name = settings.pop("label_name", "true")
    settings = {"pool": None, "memory": MEMORY, "progress": True, "images": True, **settings}
    gathered = _gather(model, loader, layer, "mistakes", **settings, scores=True)
    scores, labels = np.concatenate(gathered.scores), gathered.targets("mistakes")
    if scores.ndim != 2 or labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DimensionError(
            f"mistakes are judged by scores [N, classes] and labels [N], got {list(scores.shape)} and "
            f"{list(labels.shape)}",
            op="mistakes",
        )
    if len(labels) and not 0 <= labels.min() <= labels.max() < scores.shape[1]:
        raise ValueError(
            f"mistakes: labels are from 0 to {scores.shape[1] - 1}, got {labels.min()} to {labels.max()}"
        )
    scores = scores.astype(np.float64)
    scores -= scores.max(axis=1, keepdims=True)
    logarithms = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    own = logarithms[np.arange(len(labels)), labels]
    predicted = scores.argmax(axis=1)

    def called(codes: Array) -> list[str]:
        return [str(one) if names is None else str(names[one]) for one in codes.tolist()]

    wrong = predicted != labels
    gathered.columns = {
        "predicted": called(predicted),
        "wrong": wrong,
        "probability": np.exp(own),
        "loss": -own,
    }
    gathered.named = called(labels)
    found = gathered.embedding(label_name)
    if not only_wrong:
        return found
    if not wrong.any():
        raise ValueError(
            f"mistakes: all of {len(labels):,} samples are right; leave only_wrong away to see them"
        )
    part = found.take(wrong)
    part.title = f"{found.title} · wrong"
    return part


def weights(model: Any, layer: Any, *, name: str = "weight") -> Embedding:
    """Return the weights of a layer as an embedding: a point an output channel, with its number, norm and mean.

    `layer` is a module of the model or its dotted name; `name` that of its parameter, whose first dim is the channels.

    Raises ValueError where the model has no such layer, or the layer no such parameter.

    >>> import workbench as wb
    >>> weights(wb.nn.Sequential(wb.nn.Conv2d(1, 5, 3)), "0")
    Embedding(5 points, 9 features, images)
    """
    found = find_part("weights", model, layer)
    part: Any = found.place
    parameters = dict(part.named_parameters())
    if name not in parameters or parameters[name].ndim < 2:
        known = ", ".join(key for key, one in parameters.items() if one.ndim >= 2) or "none"
        raise ValueError(
            f"weights: layer {found.name!r} has no parameter {name!r} of 2 or more dims; there are {known}"
        )
    value = as_array(parameters[name])
    rows = value.reshape(len(value), -1)
    metadata = {
        "channel": np.arange(len(rows)),
        "norm": np.linalg.norm(rows.astype(np.float64), axis=1),
        "mean": rows.mean(axis=1, dtype=np.float64),
    }
    # A kernel that can be looked at is.
    picture = value if value.ndim == 4 and value.shape[1] in (1, 3) and min(value.shape[2:]) > 1 else None
    title = f"{found.name or type(model).__name__}.{name}"
    made = Embedding(
        rows,
        names=[f"channel {one}" for one in range(len(rows))],
        metadata=metadata,
        images=picture,
        title=title,
    )
    made.place = f"{found.name}.{name}"
    return made


class _Gathered:
    """What is known of the samples so far."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.count = 0
        self.vectors: Array = np.zeros((0, 0))
        self.labels: list[Array] = []
        self.pictures: list[Array] = []
        self.scores: list[Array] = []
        self.columns: dict[str, Any] = {}
        self.named: list[str] | None = None

    def add(self, rows: Array) -> None:
        """Put rows behind those that are there."""
        end = self.count + len(rows)
        if end > len(self.vectors):
            # Of a loader that does not say how long it is: half as much again.
            grown = np.empty((max(end, len(self.vectors) * 3 // 2), rows.shape[1]), rows.dtype)
            grown[: self.count] = self.vectors[: self.count] if self.count else 0
            self.vectors = grown
        self.vectors[self.count : end] = rows
        self.count = end

    def targets(self, what: str) -> Array:
        """Return the labels; ValueError where there are none."""
        if not self.labels:
            raise ValueError(f"{what}: batches are pairs (inputs, labels), and the loader gives inputs alone")
        return np.concatenate(self.labels)

    def embedding(self, label_name: str) -> Embedding:
        """Return all of it."""
        if not self.count:
            raise ValueError(f"{self.title}: the loader gave no batch")
        labels: Any = self.named
        if labels is None and self.labels and self.labels[0].ndim == 1:
            labels = np.concatenate(self.labels)[: self.count]
        pictures = np.concatenate(self.pictures)[: self.count] if self.pictures else None
        return Embedding(
            self.vectors[: self.count],
            labels,
            metadata=self.columns,
            images=pictures,
            label_name=label_name,
            title=self.title,
        )


def _gather(
    model: Any,
    loader: Any,
    layer: Any,
    what: str,
    pool: str | None,
    memory: int,
    progress: bool,
    images: bool,
    scores: bool = False,
) -> _Gathered:
    if pool not in (None, "mean", "max"):
        raise ValueError(f"{what}: pool is None, 'mean' or 'max', not {pool!r}")
    found = find_layer(what, model, layer)
    gathered = _Gathered(f"{type(model).__name__} · {found.name or 'input'}")
    whole = _samples(loader)
    batches = bar(loader, f"{what} of {found.name}", leave=False) if progress else loader
    with _still(model):
        try:
            for batch in batches:
                inputs, labels = _parts(batch, what)
                taken = Taken(what, found, int(inputs[0].shape[0]))
                output = run_layers(what, model, inputs, [found], [taken])
                rows = _rows(taken.values[0], pool)
                picture = _picture(inputs[0]) if images else None
                each = rows[0].nbytes + (picture[0].nbytes if picture is not None else 0)
                count = whole if whole is not None and not gathered.count else gathered.count + len(rows)
                if count * each > memory:
                    more = "" if whole is not None else "or more "
                    raise MemoryError(_too_much(what, count, each, memory, more))
                if not gathered.count:
                    gathered.vectors = np.empty((count, rows.shape[1]), rows.dtype)
                _keep(gathered, picture, labels, output if scores else None)
                gathered.add(rows)
        except KeyboardInterrupt:
            of = f" of {whole:,}" if whole else ""
            gathered.title += f" (interrupted: {gathered.count:,}{of} samples)"
    return gathered


def _keep(gathered: _Gathered, picture: Array | None, labels: Any, output: Any) -> None:
    if labels is not None:
        gathered.labels.append(as_array(labels))
    if picture is not None:
        gathered.pictures.append(picture)
    if output is not None:
        gathered.scores.append(as_array(output))


def _picture(inputs: Tensor) -> Array | None:
    """Return inputs that can be looked at, [N, C, H, W] of one or three channels."""
    if (
        inputs.ndim != 4
        or inputs.shape[1] not in (1, 3)
        or inputs.is_quantized
        or inputs.dtype.kind not in "fu"
    ):
        return None
    return as_array(inputs)


@contextmanager
def _still(model: Any) -> Iterator[None]:
    """Let a model run as it is evaluated, without gradients; afterwards each of its modules is as it was."""
    modules = [*model.modules()] if isinstance(model, Module) else []
    before = [(module, module.training) for module in modules]
    with ExitStack() as stack:
        stack.enter_context(dispatch.no_grad())
        if modules:
            model.eval()
        try:
            yield
        finally:
            for module, was in before:
                module.training = was


def _samples(loader: Any) -> int | None:
    """Return how many samples a loader gives, if it says so: those that its sampler draws, not all there are."""
    if isinstance(loader, Sequence):
        firsts = [one[0] if isinstance(one, tuple | list) else one for one in loader]
        return sum(int(one.shape[0]) for one in firsts if isinstance(one, Tensor)) or None
    # A batch sampler of one's own decides what is drawn, and may not say of what.
    batches = getattr(loader, "batch_sampler", None)
    own = batches is not None and getattr(loader, "batch_size", None) is None
    by = batches if own else loader
    drawn = getattr(by, "sampler", None)
    if drawn is None and not own:
        drawn = getattr(loader, "dataset", None)
    size = getattr(by, "batch_size", None)
    if drawn is None or not hasattr(drawn, "__len__") or not isinstance(size, int):
        return None
    return len(drawn) - len(drawn) % size if getattr(by, "drop_last", False) else len(drawn)


def _parts(batch: Any, what: str) -> tuple[tuple[Any, ...], Any]:
    if isinstance(batch, Tensor):
        return (batch,), None
    if isinstance(batch, tuple | list) and 1 <= len(batch) <= 2:
        inputs, labels = (*batch, None)[:2]
        several = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
        if several and all(isinstance(one, Tensor) for one in several) and isinstance(labels, Tensor | None):
            return several, labels
    raise TypeError(
        f"{what}: a batch is a tensor, or a pair (inputs, labels), inputs a tensor or several; got "
        f"{type(batch).__name__}"
    )


def _rows(value: Tensor, pool: str | None) -> Array:
    array = as_array(value)
    if pool is not None and array.ndim > 2:
        # Channels come second in pictures and signals, and last in sequences.
        places = range(1, array.ndim - 1) if value.names[1] in SEQUENCE else range(2, array.ndim)
        dims = tuple(places)
        array = array.mean(axis=dims) if pool == "mean" else array.max(axis=dims)
    rows = array.reshape(len(array), -1)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float32)


def _too_much(what: str, count: int, bytes_: int, memory: int, more: str) -> str:
    return (
        f"{what}: {count:,} {more}samples of {bytes_:,} bytes take {_size(count * bytes_)}, and memory is "
        f"{_size(memory)}, room for {memory // bytes_:,}: take fewer, pool='mean' over places, images=False, or "
        "give more memory"
    )


def _size(count: float) -> str:
    """Return so many bytes in a unit that leaves them one to three digits before the point."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"
