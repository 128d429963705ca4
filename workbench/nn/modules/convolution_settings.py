"""Settings of a convolution, on numbers or on codes, and the border that it puts around its input."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Literal, get_args

from workbench.base.dims import Names
from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.spatial_names import require_size
from workbench.ops.nn.conv.window_geometry import Sizes, several

__all__ = ["ConvolutionSettings", "PaddingMode", "even_padding"]

PaddingMode = Literal["zeros", "reflect", "replicate", "circular"]

_MODES = get_args(PaddingMode)
_KERNEL: Names = ("kernel_depth", "kernel_height", "kernel_width")


class ConvolutionSettings(Module):
    """Where the windows of a convolution lie, transposed or not, what is around its input, and how that is printed."""

    spatial: ClassVar[int]
    """Number of spatial dims."""
    smallest: ClassVar[int] = 1
    """Smallest number of channels: 0 where their number is found later."""
    transposed: bool = False
    bias: Any

    def _set_geometry(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        groups: int, padding_mode: str, output_padding: Any = 0,
    ) -> None:  # fmt: skip
        """Take what is the same for all convolutions; raise ValueError for what does not go together."""
        # Padding takes away from the result of a transposed one: there is no border whose values could be chosen.
        if self.transposed and padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        n = self.spatial
        require_size(1, groups=groups)
        require_size(self.smallest, in_channels=in_channels, out_channels=out_channels)
        for what, value in (("in_channels", in_channels), ("out_channels", out_channels)):
            if value % groups:
                raise ValueError(f"{what} must be divisible by groups: {value} by {groups}")
        if padding_mode not in _MODES:
            raise ValueError(
                f"padding_mode must be one of {', '.join(_MODES)}, but got padding_mode={padding_mode!r}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = several(kernel_size, n, "kernel_size")
        self.stride = several(stride, n, "stride")
        self.padding = several(padding, n, "padding") if self.transposed else _padding(padding, self.stride)
        self.dilation = several(dilation, n, "dilation")
        self.output_padding = several(output_padding, n, "output_padding")
        self.groups = groups
        self.padding_mode = padding_mode

    def _weight_sizes(self) -> Sizes:
        inner, outer = self.in_channels, self.out_channels
        if self.transposed:
            return (inner, outer // self.groups, *self.kernel_size)
        return (outer, inner // self.groups, *self.kernel_size)

    def _weight_labels(self) -> Names:
        channels = ("in_channels", "out_channels") if self.transposed else ("out_channels", "in_channels")
        return (*channels, *_KERNEL[-self.spatial :])

    def plain_widths(self) -> Sizes | None:
        """Return how far zeros pad both sides; None for a border of another kind, or of two widths."""
        padding = self.padding
        if self.padding_mode != "zeros":
            return None
        if isinstance(padding, str):
            return even_padding(padding, self.kernel_size, self.dilation)
        return padding if type(padding) is tuple else None

    def bordered(self, input: Any) -> Any:
        """Return the input with its border around it: nothing is left to pad then."""
        mode = "constant" if self.padding_mode == "zeros" else self.padding_mode
        return functional.pad(input, self._border(), mode=mode)

    def _border(self) -> list[int]:
        """Return the widths of the border as `pad` takes them: before and after, from the last dim backwards."""
        padding = self.padding
        if not isinstance(padding, str):
            # From the last dim on, as `pad` counts.
            return [width for one in reversed(padding) for width in (one, one)]
        total = _total(padding, self.kernel_size, self.dilation)
        # Where the widths are uneven the end gets more, as in PyTorch.
        return [width for one in reversed(total) for width in (one // 2, one - one // 2)]

    def extra_repr(self) -> str:
        """Return sizes, and what differs from the defaults."""
        n = self.spatial
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        parts += [f"padding={self.padding}"] if self.padding != (0,) * n else []
        parts += [f"dilation={self.dilation}"] if self.dilation != (1,) * n else []
        parts += [f"output_padding={self.output_padding}"] if self.output_padding != (0,) * n else []
        parts += [f"groups={self.groups}"] if self.groups != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []
        return ", ".join(parts)


def _padding(padding: int | Sizes | str, stride: Sizes) -> Sizes | str:
    if not isinstance(padding, str):
        return several(padding, len(stride), "padding")
    if padding not in ("valid", "same"):
        raise ValueError(f"Invalid padding string {padding!r}, should be one of ('valid', 'same')")
    # With a stride no border gives the result the size of the input.
    if padding == "same" and max(stride) > 1:
        raise ValueError("padding='same' is not supported for strided convolutions")
    return padding


def _total(padding: str, kernel: Sizes, dilation: Sizes) -> list[int]:
    return [d * (k - 1) if padding == "same" else 0 for k, d in zip(kernel, dilation, strict=True)]


@lru_cache(maxsize=256)
def even_padding(padding: str, kernel: Sizes, dilation: Sizes) -> Sizes | None:
    """Return how far 'same' or 'valid' pads either side; None where the sides differ.

    >>> even_padding("same", (3, 5), (1, 2)), even_padding("same", (2,), (1,))
    ((1, 4), None)
    """
    total = _total(padding, kernel, dilation)
    return None if any(one % 2 for one in total) else tuple(one // 2 for one in total)
