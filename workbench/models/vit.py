"""Vision transformer: Dosovitskiy et al., An image is worth 16×16 words, 2021; a small one, for small images."""

from __future__ import annotations

from typing import Any

from workbench import nn
from workbench.ops.shape.join import cat
from workbench.tensor.factories import zeros

__all__ = ["VisionTransformer", "vit_small"]


class VisionTransformer(nn.Module):
    """Patches of an image as words of a transformer encoder: images [N, C, H, W] to scores [N, out_features].

    Each patch is mapped to a token [E]; a learned token in front of them collects what the scores are made of.
    Learned positions are added. Normalisation comes first in each layer, as in the paper.

    Raises ValueError where the patches do not tile the image.

    >>> import workbench as wb
    >>> model = vit_small(size=28, channels=1).eval()
    >>> with wb.no_grad():
    ...     model(wb.zeros(N=2, C=1, H=28, W=28)).shape
    (2, 10)
    """

    token: nn.Parameter
    positions: nn.Parameter

    def __init__(
        self,
        size: int = 32,
        patch: int = 4,
        channels: int = 3,
        classes: int = 10,
        features: int = 192,
        layers: int = 6,
        heads: int = 3,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if size % patch:
            raise ValueError(
                f"patches of {patch} pixels do not tile an image of {size}: take a divisor of it"
            )
        self.patches = nn.Conv2d(channels, features, patch, stride=patch)
        self.register_parameter("token", nn.Parameter(zeros(1, 1, features), dim_labels=(None, "T", "E")))
        count = (size // patch) ** 2 + 1
        self.register_parameter("positions", nn.Parameter(zeros(count, features), dim_labels=("T", "E")))
        layer = nn.TransformerEncoderLayer(
            features, heads, 4 * features, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, layers, norm=nn.LayerNorm(features), enable_nested_tensor=False
        )
        self.head = nn.Linear(features, classes)
        nn.init.trunc_normal_(self.token, std=0.02)
        nn.init.trunc_normal_(self.positions, std=0.02)

    def features(self, x: Any) -> Any:
        """Return what the token in front has collected, [N, E]."""
        words = self.patches(x).flatten(2).transpose(1, 2)
        token = self.token.expand(words.shape[0], 1, words.shape[2])
        if x.has_names():
            words, token = (one.rename("N", "T", "E") for one in (words, token))
        words = cat((token, words), 1)
        return self.encoder(words + self.positions)[:, 0]

    def forward(self, x: Any) -> Any:
        """Return the scores of the classes."""
        return self.head(self.features(x))


def vit_small(size: int = 32, channels: int = 3, classes: int = 10, patch: int = 4) -> VisionTransformer:
    """Return a transformer of 2.7 million parameters for small images."""
    return VisionTransformer(size, patch, channels, classes)
