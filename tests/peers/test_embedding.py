"""Tables of vectors: what the database of ops does not ask of embedding and its bags: against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")


F: Any = wb.nn.functional


grad: Any = wb.autograd.grad


torch_functional: Any = torch.nn.functional


TABLE = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)


PICKED = np.array([[1, 2, 2], [5, 1, 2]])


def compare(name: str, *arguments: Any, **options: Any) -> None:
    mine, theirs = wb.tensor(TABLE, requires_grad=True), torch.tensor(TABLE, requires_grad=True)
    given = {
        key: (wb.tensor(one), torch.tensor(one)) if isinstance(one, np.ndarray) else (one, one)
        for key, one in options.items()
    }
    got = getattr(F, name)(wb.tensor(arguments[0]), mine, **{key: one for key, (one, _) in given.items()})
    expected = getattr(torch_functional, name)(
        torch.tensor(arguments[0]), theirs, **{key: one for key, (_, one) in given.items()}
    )
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    seed = np.random.default_rng(1).standard_normal(got.shape).astype(np.float32)
    (gradient,) = grad([got], [mine], [wb.tensor(seed)])
    (wanted,) = torch.autograd.grad(expected, theirs, torch.tensor(seed))
    np.testing.assert_allclose(gradient.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"padding_idx": 2}, {"padding_idx": -1}, {"scale_grad_by_freq": True}]
)
def test_embedding_is_that_of_torch(options: dict[str, Any]) -> None:
    compare("embedding", PICKED, **options)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}], ids=["plain", "padding"])
def test_bags_are_those_of_torch(mode: str, options: dict[str, Any]) -> None:
    compare("embedding_bag", PICKED, mode=mode, **options)
    row = PICKED.reshape(-1)
    compare("embedding_bag", row, offsets=np.array([0, 2, 2, 5]), mode=mode, **options)
    compare(
        "embedding_bag", row, offsets=np.array([0, 2, 2, 6]), mode=mode, include_last_offset=True, **options
    )


def test_rows_that_are_too_long_are_scaled_down_in_place() -> None:
    mine, theirs = wb.tensor(TABLE * 5), torch.tensor(TABLE * 5)
    F.embedding(wb.tensor([1, 1, 4]), mine, max_norm=1.0)
    torch_functional.embedding(torch.tensor([1, 1, 4]), theirs, max_norm=1.0)
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbours_of_all_points_and_trustworthiness_are_scikit_learn_s(metric: str) -> None:
    from sklearn.datasets import load_digits
    from sklearn.manifold import trustworthiness
    from sklearn.neighbors import NearestNeighbors

    points = load_digits().data[:600]
    found = wb.embedding.all_neighbours(points, 12, metric)  # type: ignore[arg-type]
    expected, _ = NearestNeighbors(n_neighbors=12, algorithm="brute", metric=metric).fit(points).kneighbors()
    np.testing.assert_allclose(found.distances, expected, atol=1e-7)
    positions = wb.embedding.PCA(2).fit_transform(points)
    for k in (3, 12, 50):
        judged = wb.embedding.quality(points, positions, k, metric)  # type: ignore[arg-type]
        theirs = trustworthiness(points, positions, n_neighbors=k, metric=metric)
        # Of points equally far either may count as nearer.
        assert judged.trustworthiness == pytest.approx(theirs, abs=2e-4)
