"""Tables of embeddings in codes: a scale and a zero point between codes for each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.dtypes import quint4x2, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QuantizedArray
from workbench.core.index_types import check_index
from workbench.core.lending import Stamp
from workbench.core.value import dims_of, new
from workbench.ops.nn.embedding.embedding_bag import check_bag_words
from workbench.ops.quantized.tables import QUANTIZED_EMBEDDING, QUANTIZED_EMBEDDING_BAG
from workbench.ops.shape.join import cat
from workbench.quantization.observed import weight_watcher
from workbench.quantization.quantized.repacked import TYPE, Repacked
from workbench.tensor import Tensor
from workbench.tensor.ranges import arange

__all__ = ["Embedding", "EmbeddingBag"]


TABLE = "_packed_params._packed_weight"
_PARTS = ("codes", "scales", "zero_points")


def _parts(table: QuantizedArray) -> tuple[Any, Any, Any]:
    return np.array(table.codes), np.array(table.scale), np.array(table.zero_point)


class _Table(Repacked):
    """Rows in codes: row = (codes - zero point)·scale. Only rows that are looked up become numbers."""

    codes: Tensor
    scales: Tensor
    zero_points: Tensor

    def __init__(self, module: Any) -> None:
        super().__init__()
        watching = weight_watcher(module)
        if watching.dtype not in (quint8, quint4x2) or not watching.qscheme.per_channel:
            raise QuantizationError(
                "a table of embeddings becomes quint8 or quint4x2 with a scale a row, and its observer says "
                f"{watching.dtype.name}, {watching.qscheme!r}: use float_qparams_weight_only_qconfig or "
                "float_qparams_weight_only_qconfig_4bit"
            )
        self.dtype = watching.dtype
        values = module.weight.payload
        watching.reset()
        watching(module.weight.detach())
        scale, zero = (np.asarray(one, np.float32) for one in watching.qparams())
        codes = np.rint(values * (np.float32(1) / scale)[:, None] + zero[:, None])
        limits = watching.quant_min, watching.quant_max
        self.register_buffer("codes", new(self._stored(np.clip(codes, *limits).astype(np.uint8))))
        self.register_buffer("scales", new(scale))
        self.register_buffer("zero_points", new(zero))
        self.num_embeddings, self.embedding_dim = values.shape
        self.padding_idx = module.padding_idx
        self.eval()

    parts: Mapping[str, int] = {"_packed_params": 1}
    shown = ("codes", TABLE, "scales", TABLE, "zero_points", TABLE)

    def packed(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return the table as one quantized tensor, and its type beside."""
        codes, scales, zeros = (own.pop(name).payload for name in _PARTS)
        table = new(QuantizedArray(codes, scales, zeros, quint8, 0))
        return {**own, TYPE: quint8, TABLE: table}

    def unpacked(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return codes, scales and zero points of the quantized tensor."""
        own = {key: one for key, one in given.items() if key not in (TYPE, TABLE)}
        if TABLE not in given:
            return own
        table = getattr(given[TABLE], "payload", None)
        if not isinstance(table, QuantizedArray) or table.axis != 0 or table.zero_point.dtype.kind != "f":
            raise ValueError(f"{TABLE}: expected codes with a scale and a real zero point for each row.")
        return {**own, **{key: new(one) for key, one in zip(_PARTS, _parts(table), strict=True)}}

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return the form in codes of a table with a qconfig."""
        return cls(module)

    def _stored(self, codes: Any) -> Any:
        """Two codes of four bits lie in a byte, the first in the lower half."""
        if self.dtype is quint8:
            return codes
        even = np.pad(codes, ((0, 0), (0, codes.shape[1] % 2)))
        return even[:, ::2] | even[:, 1::2] << 4

    def _read(self, stored: Any) -> Any:
        if self.dtype is quint8:
            return stored
        pairs = np.stack([stored & 15, stored >> 4], axis=2)
        return pairs.reshape(len(stored), -1)[:, : self.embedding_dim]

    @property
    def table(self) -> Any:
        """The rows as one quantized tensor [num_embeddings, embedding_dim], made anew where its parts have changed."""
        parts = [getattr(self, name) for name in _PARTS]
        held = self.__dict__.get("_made")
        if held is None or not all(one.holds(part) for one, part in zip(held[0], parts, strict=True)):
            codes, scales, zeros = (one.payload for one in parts)
            made = new(QuantizedArray(self._read(codes), scales, zeros, self.dtype, 0))
            held = [Stamp(one) for one in parts], made
            object.__setattr__(self, "_made", held)
        return held[1]

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle takes along: not the table, which is made of its parts when it is needed."""
        return {**super().__getstate__(), "_made": None}

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, dtype={self.dtype.name}"


class Embedding(_Table):
    """Rows of a table in codes, looked up as floating point values."""

    def forward(self, input: Any) -> Any:
        """Look rows up: whole numbers [any dims] to [any dims, embedding_dim]."""
        check_index("embedding", input, label="input")
        return QUANTIZED_EMBEDDING(input, self.table, scale=None, zero_point=0, qmin=0, qmax=255)


class EmbeddingBag(_Table):
    """Sums, means or greatest values of the rows of each bag, of a table in codes."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.mode, self.include_last_offset = module.mode, module.include_last_offset

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Sum, average or take the greatest of the rows of each bag."""
        check_index("embedding_bag", input, label="input")
        check_bag_words(input, offsets, per_sample_weights, self.mode, self.include_last_offset, False)
        sizes = dims_of(input).sizes
        given = dims_of(input if len(sizes) == 2 else offsets).names[:1]
        if len(sizes) == 2:
            edges = arange(sizes[0] + 1) * sizes[1]
            input = input.reshape(sizes[0] * sizes[1])
            weights = None if per_sample_weights is None else per_sample_weights.reshape(sizes[0] * sizes[1])
        else:
            weights = per_sample_weights
            ends = offsets[:-1] if self.include_last_offset else offsets
            edges = cat([ends.rename(None).long(), arange(1) + sizes[0]])
        operands = (input.rename(None), self.table, edges)
        found = QUANTIZED_EMBEDDING_BAG(
            *operands, *(() if weights is None else (weights.rename(None),)), mode=self.mode,
            padding=-1 if self.padding_idx is None else self.padding_idx % self.num_embeddings,
        )  # fmt: skip
        return found.rename(*given, None)
