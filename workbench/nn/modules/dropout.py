"""Layers that drop values or whole channels by chance while training."""

from __future__ import annotations

from typing import Any

from workbench.base.dims import Names
from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.positional_dims import check_places
from workbench.nn.spatial_names import IMAGE, check_names
from workbench.ops.random.dropout import dropout

__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "DropoutNd",
    "FeatureAlphaDropout",
]


def check_probability(p: Any) -> None:
    """Refuse what is no probability.

    >>> check_probability(2)
    Traceback (most recent call last):
    ValueError: dropout probability has to be between 0 and 1, but got 2
    """
    try:
        # Asked this way round, NaN is refused too.
        fits = bool(0 <= p <= 1)
    except TypeError as error:
        raise TypeError(f"dropout probability is a number between 0 and 1, got {p!r}") from error
    if not fits:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


class DropoutNd(Module):
    expected: tuple[Names, ...] = ()
    """Names of the dims that are taken, where the layer says what they mean."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        check_probability(p)
        self.p = p
        self.inplace = inplace

    def _check(self, input: Any) -> None:
        """Refuse names that say that the channels are not where they are taken to be."""
        if input._names is not None:
            for expected in self.expected:
                check_names(type(self).__name__, input, expected)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(DropoutNd):
    """While training, set each value to 0 with probability `p` and scale the rest by 1 / (1 - p).

    Names and sizes pass through. With `inplace`, the input itself is changed. Raises ValueError unless 0 ≤ p ≤ 1.
    Srivastava et al. 2014.

    >>> import workbench as wb
    >>> Dropout(0.5).eval()(wb.ones(N=2))
    tensor([1., 1.], names=('N',))
    """

    def forward(self, input: Any) -> Any:
        """Drop values while training."""
        return dropout(input, self.p, self.training, self.inplace)


class Dropout1d(DropoutNd):
    """While training, set whole channels of [N, C, L] or [C, L] to 0 with probability `p`, and scale the rest.

    Names and sizes pass through. Raises `DimensionError` where names say that the dims are others.
    Tompson et al. 2015.

    >>> import workbench as wb
    >>> Dropout1d(1.0)(wb.ones(N=1, C=1, L=2))
    tensor([[[0., 0.]]], names=('N', 'C', 'L'))
    """

    expected = (("N", "C", "L"), ("C", "L"))

    def forward(self, input: Any) -> Any:
        """Drop channels while training."""
        self._check(input)
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(DropoutNd):
    """While training, set whole channels of [N, C, H, W] to 0 with probability `p`, and scale the rest.

    Three dims are taken for [N, C, L], as in PyTorch. Names and sizes pass through. Raises `DimensionError` where
    names say that the dims are others. Tompson et al. 2015.

    >>> import workbench as wb
    >>> Dropout2d(1.0)(wb.ones(N=1, C=1, H=1, W=2))
    tensor([[[[0., 0.]]]], names=('N', 'C', 'H', 'W'))
    """

    expected = (IMAGE, ("N", "C", "L"))

    def forward(self, input: Any) -> Any:
        """Drop channels while training."""
        self._check(input)
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(DropoutNd):
    """While training, set whole channels of [N, C, D, H, W] or [C, D, H, W] to 0 with probability `p`, scale the rest.

    Names and sizes pass through. Raises `DimensionError` where names say that the dims are others.
    Tompson et al. 2015.

    >>> import workbench as wb
    >>> Dropout3d(1.0)(wb.ones(N=1, C=1, D=1, H=1, W=2)).shape
    (1, 1, 1, 1, 2)
    """

    expected = (("N", "C", "D", "H", "W"), ("C", "D", "H", "W"))

    def forward(self, input: Any) -> Any:
        """Drop channels while training."""
        self._check(input)
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(DropoutNd):
    """While training, set values to the floor of `SELU` with probability `p`, keeping mean 0 and variance 1.

    Names and sizes pass through. Klambauer et al. 2017.

    >>> import workbench as wb
    >>> AlphaDropout(0.2).eval()(wb.ones(N=2))
    tensor([1., 1.], names=('N',))
    """

    def forward(self, input: Any) -> Any:
        """Drop values while training."""
        return functional.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(DropoutNd):
    """`AlphaDropout` of whole channels of [N, C, …].

    Names and sizes pass through. Raises `DimensionError` where a dim called ``C`` stands elsewhere than at 1.

    >>> import workbench as wb
    >>> FeatureAlphaDropout(0.2).eval()(wb.ones(N=1, C=2))
    tensor([[1., 1.]], names=('N', 'C'))
    """

    def forward(self, input: Any) -> Any:
        """Drop channels while training."""
        check_places("FeatureAlphaDropout", input, C=1)
        return functional.feature_alpha_dropout(input, self.p, self.training, self.inplace)
