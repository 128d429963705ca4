"""``python tests/attribution/recorded/perturbation.py``: record what Captum answers, on masks and samples of seeds."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
captum = pytest.importorskip("captum")
pytest.importorskip("captum.attr")

RANDOM = np.random.default_rng(11)
VALUES: dict[str, Any] = {
    "x": RANDOM.normal(size=(2, 3, 4)),
    "base": RANDOM.normal(size=(2, 3, 4)),
    "w1": RANDOM.normal(size=(6, 12)),
    "w2": RANDOM.normal(size=(3, 6)),
    "mask": RANDOM.integers(0, 4, (2, 3, 4)),
    "chosen": RANDOM.random((30, 4)) < 0.5,
}


def forward(x: Any) -> Any:
    """Return scores [N, 3] of a network of two layers."""
    hidden = torch.tanh(x.reshape(len(x), 12) @ torch.tensor(VALUES["w1"]).T)
    return hidden @ torch.tensor(VALUES["w2"]).T


def main() -> None:
    """Write the file beside the tests."""
    warnings.simplefilter("ignore")
    x, base, mask = (torch.tensor(VALUES[name]) for name in ("x", "base", "mask"))
    chosen = [torch.tensor(one[None].astype(np.int64)) for one in VALUES["chosen"]]

    def draw(original: Any, **kwargs: Any) -> Any:
        yield from chosen

    attr, options = captum.attr, {"target": [1, 2]}
    ablation = attr.FeatureAblation(forward)
    lime = attr.Lime(forward, perturb_func=draw)
    found = {
        "ablation": ablation.attribute(x, base, feature_mask=mask, **options),
        "ablation of all": ablation.attribute(x, base),
        "occlusion": attr.Occlusion(forward).attribute(x, (2, 3), (1, 2), base, **options),
        "shapley": attr.ShapleyValues(forward).attribute(x, base, feature_mask=mask, **options),
        "lime": lime.attribute(x, base, feature_mask=mask, n_samples=30, **options),
    }
    arrays = {name: one.numpy() for name, one in found.items()}
    np.savez_compressed(Path(__file__).with_suffix(".npz"), **VALUES, **arrays)


if __name__ == "__main__":
    main()
