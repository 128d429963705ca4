"""Records PyTorch's answers for every case: ``python -m tests.distributions.recorded``, where torch is installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.distributions.cases import CASES, build, identify
from tests.distributions.pairs import FAMILIES

PATH = Path(__file__).with_name("recorded.npz")


def answers(library: Any, make: Any, pairs: Any) -> Iterator[tuple[str, Any]]:
    """What a library says of every case, and of all pairs of families, by a name; what it refuses is left out."""
    for number, case in enumerate(CASES):
        d = build(library, case, make)
        for name in ("log_prob", "entropy", "mean", "variance"):
            try:
                found = getattr(d, name)
                value = (
                    found(make(case.values)) if name == "log_prob" else found() if callable(found) else found
                )
            except NotImplementedError:
                continue
            yield f"{number} {identify(case)} {name}", value
    for left, right in pairs:
        for i, p in enumerate(FAMILIES[left]):
            for k, q in enumerate(FAMILIES[right]):
                if left == "ExponentialFamily" and p.name != q.name:
                    continue
                try:
                    both = [build(library, one, make) for one in (p, q)]
                    value = library.distributions.kl_divergence(*both)
                except NotImplementedError:
                    continue
                yield f"divergence {left} {right} {i} {k}", value


def main() -> None:
    """Write the file."""
    torch = importlib.import_module("torch")
    torch.set_default_dtype(torch.float64)
    pairs = [(left.__name__, right.__name__) for left, right in torch.distributions.kl._KL_REGISTRY]

    def make(array: Any) -> Any:
        return torch.tensor(np.array(array, np.float64, order="C"))

    found = {name: value.detach().numpy() for name, value in answers(torch, make, pairs)}
    # One array, since a file of an archive for each would be mostly their headers.
    shapes = [" ".join(map(str, value.shape)) for value in found.values()]
    values = np.concatenate([value.ravel() for value in found.values()])
    np.savez_compressed(PATH, names=np.array(list(found)), shapes=np.array(shapes), values=values)


def recorded() -> dict[str, Any]:
    """Read the file."""
    with np.load(PATH) as file:
        shapes = [tuple(map(int, shape.split())) for shape in file["shapes"]]
        cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        parts = np.split(file["values"], cuts)
        return {
            str(name): part.reshape(shape)
            for name, shape, part in zip(file["names"], shapes, parts, strict=True)
        }


if __name__ == "__main__":
    main()
