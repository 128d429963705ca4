"""Tables of embeddings in codes: a scale and a zero point between codes for each row."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from workbench.base.dtypes import quint4x2, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QuantizedArray
from workbench.core.value import new
from workbench.nn import functional
from workbench.quantization.observed import weight_watcher
from workbench.quantization.quantized.repacked import TYPE, Repacked
from workbench.tensor import Tensor

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

    parts: ClassVar[dict[str, int]] = {"_packed_params": 1}
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

    def _rows(self, input: Any) -> tuple[Any, Any]:
        """Return the rows that `input` names, and the places of these in them."""
        wanted, places = np.unique(input.payload, return_inverse=True)
        if wanted.size and not (0 <= wanted[0] and wanted[-1] < self.num_embeddings):
            raise IndexError(f"index out of range in self: rows go from 0 to {self.num_embeddings - 1}")
        scale, zero = self.scales.payload[wanted], self.zero_points.payload[wanted]
        rows = (self._read(self.codes.payload[wanted]).astype(np.float32) - zero[:, None]) * scale[:, None]
        return new(rows), new(places.reshape(input.payload.shape), input._names)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, dtype={self.dtype.name}"


class Embedding(_Table):
    """Rows of a table in codes, looked up as floating point values."""

    def forward(self, input: Any) -> Any:
        """Look rows up: whole numbers [any dims] to [any dims, embedding_dim]."""
        rows, places = self._rows(input)
        return functional.embedding(places, rows)


class EmbeddingBag(_Table):
    """Sums, means or greatest values of the rows of each bag, of a table in codes."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.mode, self.include_last_offset = module.mode, module.include_last_offset

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Sum, average or take the greatest of the rows of each bag."""
        rows, places = self._rows(input)
        padding = None
        if self.padding_idx is not None:
            found = np.unique(input.payload)
            here = int(np.searchsorted(found, self.padding_idx % self.num_embeddings))
            padding = here if here < len(found) and found[here] == self.padding_idx else None
        return functional.embedding_bag(
            places, rows, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset, padding_idx=padding,
        )  # fmt: skip
