"""Influence of training examples: closed forms of models that have one, kinds that agree, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import TrainingModeWarning
from workbench.attribution.influence import (
    ArnoldiInfluenceFunction,
    NaiveInfluenceFunction,
    SimilarityInfluence,
    TracInCP,
    TracInCPFast,
    TracInCPFastRandProj,
)
from workbench.attribution.influence.similarity import euclidean_distance

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(7, 3))
Y = RANDOM.normal(size=(7, 2))
TEST = (wb.from_numpy(RANDOM.normal(size=(4, 3))), wb.from_numpy(RANDOM.normal(size=(4, 2))))
DATA = wb.data.TensorDataset(wb.from_numpy(X), wb.from_numpy(Y))


class Halves(wb.nn.Module):
    """Half the squared distance, per example."""

    def forward(self, output: Any, label: Any) -> Any:
        return 0.5 * ((output - label) ** 2).sum(1)


def checkpoints(folder: Path, model: Any) -> list[str]:
    paths = []
    for number, rate in ((2, 0.5), (10, 0.25)):
        state = {name: value * number for name, value in model.state_dict().items()}
        paths.append(str(folder / f"step{number}.pt"))
        wb.save({**state, "learning_rate": rate}, paths[-1])
    return paths


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Any, list[str]]:
    wb.manual_seed(4)
    model = wb.nn.Linear(3, 2, bias=False).double().eval()
    return model, checkpoints(tmp_path, model)


def by_hand(model: Any, x: Any, y: Any, other: tuple[Any, Any]) -> Any:
    weight, total = model.weight.detach().numpy(), 0
    for number, rate in ((2, 0.5), (10, 0.25)):
        mine = (other[0] @ (number * weight).T - other[1], other[0])
        theirs = (x @ (number * weight).T - y, x)
        total = total + rate * (mine[0] @ theirs[0].T) * (mine[1] @ theirs[1].T)
    return total


@pytest.mark.parametrize("reduction", ["per example", "sum", "mean"])
def test_tracin_of_a_linear_model(saved: tuple[Any, list[str]], tmp_path: Path, reduction: str) -> None:
    model, paths = saved
    before = model.weight.tolist()
    loss: Any = Halves() if reduction == "per example" else wb.nn.MSELoss(reduction=reduction)
    # PyTorch's loss has no ½, and its mean is over the values of an example, too.
    unit = {"per example": 1, "sum": 4, "mean": 1}[reduction]
    expected = unit * by_hand(model, X, Y, (TEST[0].numpy(), TEST[1].numpy()))
    own = unit * np.diag(by_hand(model, X, Y, (X, Y)))
    slow = TracInCP(model, DATA, paths[::-1], loss_fn=loss, batch_size=3)
    fast = TracInCPFast(model, model, DATA, str(tmp_path), loss_fn=loss, batch_size=2)
    exact = TracInCPFastRandProj(model, "", DATA, paths, loss_fn=loss, batch_size=2)
    assert slow.checkpoints == paths
    for tracin in (slow, fast, exact):
        found = tracin.influence(TEST, k=None)
        assert found.names == ("input", "example")
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        np.testing.assert_allclose(tracin.self_influence(), own, rtol=1e-9)
        for proponents in (True, False):
            best = tracin.influence(TEST, k=3, proponents=proponents)
            order = np.argsort(-expected if proponents else expected, axis=1)[:, :3]
            np.testing.assert_array_equal(best.indices, order)
            np.testing.assert_allclose(
                best.influence_scores, np.take_along_axis(expected, order, 1), rtol=1e-9
            )
    together = slow.influence(TEST, aggregate=True)
    np.testing.assert_allclose(together[0], expected.sum(0), rtol=1e-9)
    loader = wb.data.DataLoader(wb.data.TensorDataset(*TEST), batch_size=3)
    np.testing.assert_allclose(slow.influence(loader), expected, rtol=1e-9)
    assert slow.compute_intermediate_quantities(TEST).shape == (4, 12)
    assert model.weight.tolist() == before


def test_projections_keep_products_on_average(saved: tuple[Any, list[str]]) -> None:
    model, paths = saved
    exact = TracInCPFast(model, model, DATA, paths, loss_fn=Halves()).influence(TEST).numpy()
    found = [
        TracInCPFastRandProj(
            model, model, DATA, paths, loss_fn=Halves(), projection_dim=4, seed=seed, batch_size=7
        ).influence(TEST, k=None)
        for seed in range(150)
    ]
    mean = np.mean([one.numpy() for one in found], axis=0)
    assert np.abs(mean - exact).mean() < 0.25 * np.abs(exact).mean()
    assert found[0].numpy().tolist() != found[1].numpy().tolist()


@pytest.mark.parametrize("kind", [NaiveInfluenceFunction, ArnoldiInfluenceFunction])
@pytest.mark.parametrize("batch_size", [2, 7])
def test_influence_of_a_quadratic_model_is_its_closed_form(
    tmp_path: Path, kind: Any, batch_size: int
) -> None:
    model = wb.nn.Linear(3, 2, bias=False).double().eval()
    wb.save(model.state_dict(), tmp_path / "best.pt")
    settings = {
        "loss_fn": Halves(),
        "batch_size": batch_size,
        "hessian_reg": 0.0,
        "hessian_inverse_tol": 1e-9,
    }
    if kind is ArnoldiInfluenceFunction:
        settings["arnoldi_tol"] = 1e-9
    found = kind(model, DATA, tmp_path / "best.pt", **settings)
    weight = model.weight.detach().numpy()
    mine = [
        np.outer(y, x).ravel()
        for x, y in zip(TEST[0].numpy(), TEST[0].numpy() @ weight.T - TEST[1].numpy(), strict=True)
    ]
    theirs = [np.outer(y, x).ravel() for x, y in zip(X, X @ weight.T - Y, strict=True)]
    inverse = np.linalg.inv(np.kron(np.eye(2), X.T @ X))
    # Of eigenvalues that come twice a Krylov space from one vector holds one direction each.
    expected = np.stack(mine) @ inverse @ np.stack(theirs).T
    if kind is NaiveInfluenceFunction:
        np.testing.assert_allclose(found.influence(TEST), expected, rtol=1e-6)
        np.testing.assert_allclose(
            found.self_influence(), np.einsum("np,pq,nq->n", theirs, inverse, theirs), rtol=1e-6
        )
        best = found.influence(TEST, k=2)
        np.testing.assert_array_equal(best.indices, np.argsort(-expected, 1)[:, :2])
    else:
        assert found.compute_intermediate_quantities(TEST).shape[1] == 3


def classifier(folder: Path) -> tuple[Any, Any, str]:
    wb.manual_seed(6)
    model = wb.nn.Sequential(wb.nn.Linear(3, 2), wb.nn.Tanh(), wb.nn.Linear(2, 2)).double().eval()
    wb.save(model.state_dict(), folder / "best.pt")
    labels = wb.tensor([0, 1, 1, 0, 1, 0, 0])
    return model, wb.data.TensorDataset(wb.from_numpy(X), labels), str(folder / "best.pt")


def test_arnoldi_agrees_with_the_whole_hessian(tmp_path: Path) -> None:
    model, data, path = classifier(tmp_path)
    settings: dict[str, Any] = {
        "loss_fn": wb.nn.CrossEntropyLoss(reduction="mean"),
        "hessian_reg": 1e-3,
        "hessian_inverse_tol": 1e-2,
        "projection_dim": 4,
        "batch_size": 3,
    }
    inputs = (TEST[0], wb.tensor([0, 1, 1, 0]))
    naive = NaiveInfluenceFunction(model, data, path, **settings)
    arnoldi = ArnoldiInfluenceFunction(model, data, path, arnoldi_tol=1e-9, **settings)
    np.testing.assert_allclose(arnoldi.influence(inputs), naive.influence(inputs), rtol=1e-5, atol=1e-8)
    last = NaiveInfluenceFunction(model, data, path, layers=["2"], **settings)
    assert last.influence(inputs).shape == (4, 7)


def test_likeness() -> None:
    model = wb.nn.Sequential(wb.nn.Identity()).eval()
    source = wb.tensor([[1.0, 0.0], [0.0, 3.0], [2.0, 2.1], [-1.0, 0.0]])
    inputs = wb.tensor([[2.0, 0.1], [0.0, 1.0]])
    cosine = SimilarityInfluence(model, "0", wb.data.TensorDataset(source), batch_size=3)
    indices, values = cosine.influence(inputs, top_k=2)["0"]
    assert indices.tolist() == [[0, 2], [1, 2]]
    assert values[1, 0] == 1
    near = SimilarityInfluence(
        model, ["0"], source, similarity_metric=euclidean_distance, similarity_direction="min", batch_size=3
    )
    assert near.influence(inputs, top_k=1)["0"][0].tolist() == [[0], [0]]
    zeros = SimilarityInfluence(model, "0", wb.cat([source, wb.zeros(1, 2)]), batch_size=2)
    with pytest.warns(RuntimeWarning, match="layer '0' has activations of zeros alone"):
        found = zeros.influence(inputs, top_k=5)
    assert found["zero_acts-0"].tolist() == [[0, 4], [1, 4]]
    assert found["0"][0][:, -1].tolist() == [4, 4]
    with pytest.raises(ValueError, match='similarity_direction is "max" or "min"'):
        SimilarityInfluence(model, "0", source, similarity_direction="up")
    wrong = SimilarityInfluence(model, "0", source, similarity_metric=lambda a, b: a)
    with pytest.raises(wb.DimensionError, match="one number for each pair"):
        wrong.influence(inputs)


@pytest.mark.parametrize("kind", [TracInCP, TracInCPFast, TracInCPFastRandProj, NaiveInfluenceFunction])
def test_data_without_examples_or_labels(saved: tuple[Any, list[str]], kind: Any) -> None:
    model, paths = saved
    fast = {"final_fc_layer": model} if issubclass(kind, TracInCPFast) else {}
    given = {"checkpoint": paths[0]} if kind is NaiveInfluenceFunction else {"checkpoints": paths}
    for data, error, words in (
        (wb.data.TensorDataset(TEST[0][:0], TEST[1][:0]), ValueError, "there are no examples in the data"),
        (wb.data.TensorDataset(TEST[0]), TypeError, r"\(features, …, labels\), and gave a list of 1"),
        (TEST[0], TypeError, "gave a Tensor"),
    ):
        with pytest.raises(error, match=words):
            kind(model=model, train_dataset=data, loss_fn=Halves(), **fast, **given).influence(TEST)


def test_likeness_to_nothing(saved: tuple[Any, list[str]]) -> None:
    model = wb.nn.Sequential(saved[0]).eval()
    with pytest.raises(ValueError, match="there are no examples in the data"):
        SimilarityInfluence(model, "0", wb.data.TensorDataset(TEST[0][:0])).influence(TEST[0])


class Within(wb.nn.Module):
    """A part that is called as parallel training calls the whole."""

    def __init__(self, part: Any) -> None:
        super().__init__()
        self.module = part

    def forward(self, x: Any) -> Any:
        return self.module(x)


def test_a_part_of_the_model_that_is_called_module(saved: tuple[Any, list[str]], tmp_path: Path) -> None:
    model, paths = saved
    expected = TracInCP(model, DATA, paths, loss_fn=Halves()).influence(TEST)
    within = Within(model).eval()
    for wrapped, prefix in ((within, ""), (within, "module."), (model, "module.")):
        written = []
        for path in paths:
            state = {**wb.load(path)}
            rate = state.pop("learning_rate")
            own = "module." if wrapped is within else ""
            written.append(str(tmp_path / f"again{len(written)}.pt"))
            wb.save(
                {**{prefix + own + name: one for name, one in state.items()}, "learning_rate": rate},
                written[-1],
            )
        found = TracInCP(wrapped, DATA, written, loss_fn=Halves()).influence(TEST)
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_only_the_last_layer_has_short_products(saved: tuple[Any, list[str]]) -> None:
    first, loss = saved[0], Halves()
    model = wb.nn.Sequential(first, wb.nn.Tanh(), wb.nn.Linear(2, 2).double()).eval()
    load = {"checkpoints": [1], "checkpoints_load_func": lambda model, path: 1.0, "loss_fn": loss}
    assert TracInCPFast(model, "2", DATA, **load).influence(TEST).shape == (4, 7)
    with pytest.raises(ValueError, match=r"the model's output is not that of final_fc_layer.*into loss_fn"):
        TracInCPFast(model, "0", DATA, **load).influence(TEST)
    with pytest.raises(TypeError, match=r"with a weight \[out, in\], a Tanh is none"):
        TracInCPFast(model, "1", DATA, **load)
    lines = wb.data.TensorDataset(wb.from_numpy(X[:, None]), wb.from_numpy(Y[:, None]))
    with pytest.raises(
        wb.DimensionError, match=r"the last layer was given \[1, 1, 3\]: only of \[N, features\]"
    ):
        TracInCPFast(first, first, lines, **load).influence(TEST)


def test_refusals(saved: tuple[Any, list[str]], tmp_path: Path) -> None:
    model, paths = saved
    loss = Halves()
    with pytest.raises(TypeError, match="model is a module, whose parameters learned"):
        TracInCP(lambda x: x, DATA, paths)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there are no checkpoints"):
        TracInCP(model, DATA, str(tmp_path / "nothing"))
    with pytest.raises(TypeError, match="checkpoints are a folder, or a list"):
        TracInCP(model, DATA, 3)
    with pytest.raises(TypeError, match="batch_size is a whole number"):
        TracInCP(model, DATA, paths, batch_size=None)
    with pytest.raises(ValueError, match="the model has no layer 'fc'"):
        TracInCP(model, DATA, paths, layers=["fc"])
    with pytest.raises(ValueError, match="give loss_fn"):
        TracInCPFast(model, model, DATA, paths)
    tracin = TracInCP(model, DATA, paths, loss_fn=loss)
    with pytest.raises(ValueError, match="k is 1 or more"):
        tracin.influence(TEST, k=0)
    with pytest.raises(TypeError, match="inputs are a tuple"):
        tracin.influence(TEST[0])
    with pytest.raises(wb.DimensionError, match=r"parts of a batch have \[3, 4\] examples"):
        tracin.influence((TEST[0], TEST[1][:3]))
    with pytest.raises(wb.DimensionError, match=r"parts of a batch have \[0\] examples"):
        tracin.influence((TEST[0][:0], TEST[1][:0]))
    for rate, error in ((None, TypeError), (-1.0, ValueError), (float("nan"), ValueError)):
        with pytest.raises(error, match="the learning rate that checkpoints_load_func returns is a"):
            TracInCPFastRandProj(model, model, DATA, paths, lambda model, path, rate=rate: rate, loss_fn=loss)
    with pytest.raises(ValueError, match="gradients of the loss are NaN or infinite"):
        tracin.influence((TEST[0] * float("nan"), TEST[1]))
    wb.save([1], tmp_path / "list.pt")
    with pytest.raises(TypeError, match="holds a list, and no state of a model"):
        TracInCP(model, DATA, [str(tmp_path / "list.pt")], loss_fn=loss).influence(TEST)
    with pytest.raises(ValueError, match="no eigenvalue of the Hessian is above hessian_inverse_tol=1000"):
        NaiveInfluenceFunction(model, DATA, paths[0], loss_fn=loss, hessian_inverse_tol=1e9)
    model.train()
    with pytest.warns(TrainingModeWarning):
        tracin.influence(TEST)
    assert model.training
