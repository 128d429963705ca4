"""Transformers: layers of attention and of maps of each place, and stacks of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from workbench.base.dtypes import as_dtype, get_default_dtype
from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.nn import functional, init
from workbench.nn.module import Module
from workbench.nn.modules.activation_rectified import ReLU
from workbench.nn.modules.attention import MultiheadAttention
from workbench.nn.modules.container import ModuleList
from workbench.nn.modules.dropout import Dropout
from workbench.nn.modules.linear import Linear
from workbench.nn.modules.normalization import LayerNorm
from workbench.ops.shape.creation import filled, tri

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
]  # fmt: skip

Activation = str | Callable[[Any], Any]


def _subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
    kind = (get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
    mask = ops.where(tri(sz, sz), filled((), 0, kind), -np.inf)
    return mask if device is None else mask.to(device)


def _activation(activation: Activation) -> Callable[[Any], Any]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return functional.relu if activation == "relu" else functional.gelu


def is_causal_mask(mask: Tensor | None, is_causal: bool | None, x: Tensor, batch_first: bool) -> bool:
    """Say whether a mask is the causal one, unless the caller has said so."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    sizes = dims_of(x).sizes
    size = sizes[0] if len(sizes) == 2 else sizes[1 if batch_first else 0]
    array = mask.payload
    # PyTorch compares with numbers only: a mask of booleans never counts as causal, whatever it masks.
    if not isinstance(array, np.ndarray) or array.shape != (size, size) or array.dtype.kind != "f":
        return False
    return bool(np.array_equal(array, np.triu(np.full((size, size), -np.inf), 1)))


def named_as(change: Tensor, names: tuple[str | None, ...]) -> Tensor:
    """Return what a block makes of something, with the names that this had."""
    # The maps of a block call the last dim otherwise (``out_features``).
    return change if change.names == names else ops.rename(change, names=names if any(names) else None)


def added(x: Tensor, change: Tensor) -> Tensor:
    """Add what a block makes of `x`, which keeps its names."""
    return x + named_as(change, x.names)


def check_pair(src: Tensor, tgt: Tensor, batch_first: bool, d_model: int) -> None:
    """Raise where the sequences that a transformer is given do not go with each other, or not with it."""
    a, b = dims_of(src), dims_of(tgt)
    at = 0 if batch_first else 1
    why = ""
    if len(a.sizes) == 3 and len(b.sizes) == 3 and a.sizes[at] != b.sizes[at]:
        why = f"the batch number of src and tgt must be equal, they are {a.sizes[at]} and {b.sizes[at]}"
    elif a.sizes[-1] != d_model or b.sizes[-1] != d_model:
        why = (
            f"the feature number of src and tgt must be equal to d_model, which is {d_model}; they are "
            f"{a.sizes[-1]} and {b.sizes[-1]}"
        )
    if why:
        raise DimensionError(why, op="Transformer", operands=(a.operand("src"), b.operand("tgt")))


class _Layer(Module):
    """What layers of encoder and decoder share: blocks of attention, the map of each place, and a norm for each."""

    attentions: ClassVar[tuple[str, ...]]
    """What the blocks of attention are called, in their order."""
    self_attn: MultiheadAttention

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        # Registered in PyTorch's order: states and optimizers count parameters by it.
        for name in self.attentions:
            setattr(
                self,
                name,
                MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **made),
            )
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        blocks = range(1, len(self.attentions) + 2)
        for k in blocks:
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, **made))
        for k in blocks:
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _block(self, x: Any, block: Callable[[Any], Any], k: int) -> Any:
        """Add what `block` makes of `x`, normalised before or after."""
        norm, dropout = getattr(self, f"norm{k}"), getattr(self, f"dropout{k}")
        if self.norm_first:
            return added(x, dropout(block(norm(x))))
        return norm(added(x, dropout(block(x))))

    def _map(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a map of each place, each added to its input and normalised.

    x ← norm(x + attention(x)), x ← norm(x + W₂·f(W₁·x)); with `norm_first` x ← x + block(norm(x)).

    Input and output [T, N, d_model], with `batch_first` [N, T, d_model], without N for one sequence; names stay. In
    masks True means *not* to look: `src_mask` [T, T] or [N·heads, T, T], `src_key_padding_mask` [N, T]. `activation` is
    ``"relu"``, ``"gelu"`` or a function. Vaswani et al. 2017; norms first: Xiong et al. 2020.

    >>> import workbench as wb
    >>> TransformerEncoderLayer(8, 2, 16, batch_first=True)(wb.zeros(N=2, T=3, E=8)).names
    ('N', 'T', 'E')
    """

    attentions = ("self_attn",)

    @property
    def activation_relu_or_gelu(self) -> int:
        """1 where the activation is ReLU, 2 where it is GELU, 0 for another."""
        if self.activation is functional.gelu:
            return 2
        return int(self.activation is functional.relu or isinstance(self.activation, ReLU))

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Any:
        """Encode; `is_causal` says that `src_mask` is the causal one."""

        def attend(x: Any) -> Any:
            return self.self_attn(
                x, x, x, src_key_padding_mask, need_weights=False, attn_mask=src_mask, is_causal=is_causal
            )[0]

        return self._block(self._block(src, attend, 1), self._map, 2)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to what the encoder made (`memory`), then a map of each place.

    Each is added to its input and normalised, as in `TransformerEncoderLayer`, whose arguments it takes.

    >>> import workbench as wb
    >>> layer = TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(wb.zeros(N=2, T=3, E=8), wb.zeros(N=2, S=5, E=8)).names
    ('N', 'T', 'E')
    """

    attentions = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """Decode; the last two say that the masks are causal ones."""

        def attend(x: Any) -> Any:
            return self.self_attn(
                x, x, x, tgt_key_padding_mask, need_weights=False, attn_mask=tgt_mask, is_causal=tgt_is_causal
            )[0]

        def look(x: Any) -> Any:
            return self.multihead_attn(
                x, memory, memory, memory_key_padding_mask,
                need_weights=False, attn_mask=memory_mask, is_causal=memory_is_causal,
            )[0]  # fmt: skip

        return self._block(self._block(self._block(tgt, attend, 1), look, 2), self._map, 3)


def _clones(layer: Module, count: int) -> ModuleList:
    # Copies of one layer begin with the same numbers, as in PyTorch; whoever minds draws them anew.
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Module):
    """Copies of a layer one after the other, and a normalisation at the end where one is given.

    `enable_nested_tensor` and `mask_check` are kept for the sake of models that say them: padded places are computed
    like all others.

    >>> import workbench as wb
    >>> encoder = TransformerEncoder(TransformerEncoderLayer(8, 2, 16), num_layers=2)
    >>> encoder(wb.zeros(T=3, N=2, E=8)).names
    ('T', 'N', 'E')
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = False
        self.mask_check = mask_check

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        """Encode; without `is_causal` the mask is looked at."""
        causal = is_causal_mask(mask, is_causal, src, self.layers[0].self_attn.batch_first)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a layer one after the other, and a normalisation at the end where one is given.

    >>> import workbench as wb
    >>> decoder = TransformerDecoder(TransformerDecoderLayer(8, 2, 16), num_layers=2)
    >>> decoder(wb.zeros(T=3, N=2, E=8), wb.zeros(S=5, N=2, E=8)).names
    ('T', 'N', 'E')
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """Decode; without `tgt_is_causal` the mask is looked at."""
        causal = is_causal_mask(tgt_mask, tgt_is_causal, tgt, self.layers[0].self_attn.batch_first)
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encoder and decoder: sequences made of sequences.

    `src` [S, N, d_model] and `tgt` [T, N, d_model] (with `batch_first` [N, …, d_model]) give [T, N, d_model], in the
    names of `tgt`. Masks as in the layers. Vaswani et al. 2017.

    >>> import workbench as wb
    >>> model = Transformer(8, 2, 1, 1, 16)
    >>> mask = model.generate_square_subsequent_mask(3)
    >>> model(wb.zeros(S=5, N=2, E=8), wb.zeros(T=3, N=2, E=8), tgt_mask=mask).names
    ('T', 'N', 'E')
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
            device, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*settings), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*settings), num_decoder_layers, norm()
        )
        # All of them, those of an encoder or decoder that was given included, as in PyTorch.
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """Encode `src`, and decode `tgt` beside it."""
        check_pair(src, tgt, self.batch_first, self.d_model)
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """Return the causal mask [sz, sz]: 0 where a place may look, -∞ at the places after it.

        >>> Transformer.generate_square_subsequent_mask(2).tolist()
        [[0.0, -inf], [0.0, 0.0]]
        """
        return _subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        """Draw all matrices anew: Glorot's."""
        for parameter in self.parameters():
            if len(parameter.payload.shape) > 1:
                init.xavier_uniform_(parameter)
