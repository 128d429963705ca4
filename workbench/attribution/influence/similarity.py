"""Influence by likeness: training examples that a layer sees as it sees the input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.attribution.checks import check_count
from workbench.attribution.influence.base import DataInfluence, check_model, loader_of
from workbench.attribution.layer.activation import LayerActivation
from workbench.attribution.modes import outside
from workbench.base.errors import DimensionError
from workbench.core.value import new
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["SimilarityInfluence", "cosine_similarity", "euclidean_distance"]

Array = np.ndarray[Any, Any]


def euclidean_distance(test: Tensor, train: Tensor) -> Tensor:
    """Return the distances of all rows of one from all of the other, [test, train]."""
    a, b = (one.detach().numpy(force=True).reshape(one.shape[0], -1) for one in (test, train))
    return new(np.linalg.norm(a[:, None] - b[None], axis=2), None)


def cosine_similarity(test: Tensor, train: Tensor, replace_nan: float = 0) -> Tensor:
    """Return the cosines of all rows of one and all of the other, [test, train]; `replace_nan` for zeros."""
    a, b = (one.detach().numpy(force=True).reshape(one.shape[0], -1) for one in (test, train))
    sizes = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)[None]
    none = sizes == 0
    return new(np.where(none, a.dtype.type(replace_nan), a @ b.T / np.where(none, 1, sizes)), None)


class SimilarityInfluence(DataInfluence):
    """Training examples whose activations in layers are most like those of an input.

    ``similarity_metric(test, train)`` takes activations [n, …] and [m, …] and returns [n, m]; `similarity_direction`
    says whether likeness is a great value (``"max"``) or a small one (``"min"``). Activations of the examples are made
    batch by batch when they are needed and not kept, so that `activation_dir` and `model_id`, Captum's, are not used.

    Raises:
        TypeError: the model is no module.
        ValueError: another direction.
    """

    def __init__(
        self,
        module: Module,
        layers: str | list[str],
        influence_src_dataset: Any,
        activation_dir: str = "",
        model_id: str = "",
        similarity_metric: Callable[[Tensor, Tensor], Tensor] = cosine_similarity,
        similarity_direction: str = "max",
        batch_size: int = 1,
        *,
        replace_nan: float | None = None,
    ) -> None:
        if similarity_direction not in ("max", "min"):
            raise ValueError(
                f'{self.get_name()}: similarity_direction is "max" or "min", got {similarity_direction!r}'
            )
        self.module = check_model(self.get_name(), module)
        self.layers = [layers] if isinstance(layers, str) else list(layers)
        self.similarity_metric = similarity_metric
        self.similarity_direction = similarity_direction
        # Below, or above, whatever a cosine can be: zeros are like nothing.
        self.replace_nan = (
            (-2 if similarity_direction == "max" else 2) if replace_nan is None else replace_nan
        )
        self.influence_src_dataloader = loader_of(self.get_name(), influence_src_dataset, batch_size)

    def influence(
        self,
        inputs: Any,
        top_k: int = 1,
        additional_forward_args: Any = None,
        load_src_from_disk: bool = True,
    ) -> dict[str, Any]:
        """Return for each layer ``(indices, similarities)`` of the `top_k` examples that are most like each input.

        Each is [input, rank]. Where activations are all 0 the cosine has no meaning: a `RuntimeWarning` says so, and
        ``zero_acts-LAYER`` holds the pairs [pair, (input, example)].

        Raises:
            ValueError: `top_k` is below 1, or the data has no examples.
            DimensionError: `similarity_metric` returns something else than one number for each pair.
        """
        top_k = check_count(self.get_name(), "top_k", top_k)
        activations = LayerActivation(self.module, self.layers)
        mine = activations.attribute(inputs, additional_forward_args)
        found: list[list[Array]] = [[] for _ in self.layers]
        for batch in self.influence_src_dataloader:
            theirs = activations.attribute(tuple(batch) if isinstance(batch, list) else batch)
            for part, test, train in zip(found, mine, theirs, strict=True):
                part.append(self._similar(test, train))
        if not all(found):
            raise ValueError(f"{self.get_name()}: there are no examples in the data")
        influences: dict[str, Any] = {}
        for layer, parts in zip(self.layers, found, strict=True):
            whole = np.concatenate(parts, axis=1)
            sign = -1 if self.similarity_direction == "max" else 1
            order = np.argsort(sign * whole, axis=1, kind="stable")[:, :top_k]
            names = ("input", "rank")
            influences[layer] = (new(order, names), new(np.take_along_axis(whole, order, axis=1), names))
            zeros = np.argwhere(whole == self.replace_nan)
            if self.similarity_metric is cosine_similarity and len(zeros):
                influences[f"zero_acts-{layer}"] = new(zeros, None)
                warnings.warn(
                    f"{self.get_name()}: layer {layer!r} has activations of zeros alone, of which the cosine has no "
                    f"meaning; the pairs are in 'zero_acts-{layer}'",
                    RuntimeWarning,
                    stacklevel=outside(),
                )
        return influences

    def _similar(self, test: Tensor, train: Tensor) -> Array:
        if self.similarity_metric is cosine_similarity:
            similar = cosine_similarity(test, train, self.replace_nan)
        else:
            similar = self.similarity_metric(test, train)
        if similar.shape != (test.shape[0], train.shape[0]):
            raise DimensionError(
                f"similarity_metric was given {test.shape[0]} and {train.shape[0]} activations and returned "
                f"{list(similar.shape)}: it returns one number for each pair",
                op=self.get_name(),
            )
        return similar.detach().numpy(force=True)
