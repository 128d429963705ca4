"""What PyTorch's observers answer, recorded: ``python -m tests.quantization.recorded``, with torch."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("recorded.json")

LIMITS: dict[str, dict[str, Any]] = {
    "own": {}, "reduced": {"reduce_range": True}, "four bits": {"quant_min": 0, "quant_max": 15},
    "least scale": {"eps": 2**-12},
}  # fmt: skip
SCHEMES = {
    "MinMaxObserver": ("per_tensor_affine", "per_tensor_symmetric"),
    "MovingAverageMinMaxObserver": ("per_tensor_affine", "per_tensor_symmetric"),
    "PerChannelMinMaxObserver": (
        "per_channel_affine",
        "per_channel_symmetric",
        "per_channel_affine_float_qparams",
    ),
    "MovingAveragePerChannelMinMaxObserver": ("per_channel_affine", "per_channel_symmetric"),
}


def batches() -> dict[str, list[Any]]:
    """Return awkward values: drawn by NumPy, the same everywhere."""
    random = np.random.default_rng(31)
    made = {
        "random": [random.standard_normal((3, 7)) * width for width in (1.0, 7.0, 0.1)],
        "positive": [random.random((3, 4)) + 1],
        "negative": [-random.random((3, 4)) - 1],
        "constant": [np.full((3, 4), 5.0)] * 2,
        "zero": [np.zeros((3, 4))],
        "ties": [np.arange(-6, 6).reshape(3, 4) * 0.5 + 0.25],
        "huge": [np.array([[1e38, 2e38], [3e38, 0], [3.4e38, 1]])],
        "tiny": [np.array([[1e-30, -1e-30], [1e-38, 0], [1e-45, -1e-45]])],
    }
    return {name: [np.asarray(one, np.float32) for one in group] for name, group in made.items()}


def cases() -> Iterator[tuple[str, str, str, str, str]]:
    """Return what is asked: observer, scheme, type of the codes, limits, values."""
    for observer, schemes in SCHEMES.items():
        for scheme in schemes:
            for kind in ("quint8", "qint8"):
                for limits in LIMITS:
                    # Symmetric unsigned codes cannot be reduced.
                    if "symmetric" in scheme and kind == "quint8" and limits == "reduced":
                        continue
                    for values in batches():
                        yield observer, scheme, kind, limits, values


def answer(
    library: Any, quantization: Any, case: tuple[str, str, str, str, str], tensor: Any
) -> dict[str, Any]:
    """Return scale and zero point that an observer of `library` finds."""
    observer, scheme, kind, limits, values = case
    settings = {"averaging_constant": 0.3} if "Moving" in observer else {}
    made = getattr(quantization, observer)(
        dtype=getattr(library, kind), qscheme=getattr(library, scheme), **LIMITS[limits], **settings
    )
    for batch in batches()[values]:
        made(tensor(batch))
    scale, zero = made.calculate_qparams()
    return {"scale": [float(one).hex() for one in scale.tolist()], "zero_point": zero.tolist()}


def record() -> None:
    """Ask PyTorch, and write the file."""
    warnings.simplefilter("ignore")
    torch: Any = importlib.import_module("torch")
    quantization: Any = importlib.import_module("torch.ao.quantization")
    found = {"|".join(case): answer(torch, quantization, case, torch.tensor) for case in cases()}
    FILE.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
