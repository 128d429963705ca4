"""Statistics over attributions agree with NumPy's, by class and of several tensors; wrong use says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import attribution
from workbench.attribution import (
    MSE,
    ClassSummarizer,
    CommonStats,
    Count,
    Max,
    Mean,
    Min,
    ProductBaselines,
    StdDev,
    Sum,
    Summarizer,
    TextTemplateInput,
    Var,
)

VALUES = np.random.default_rng(2).normal(size=(50, 3, 4)).astype(np.float32)
STATS = {
    "count": (Count(), lambda x: len(x)),
    "mean": (Mean(), lambda x: x.mean(0)),
    "mse": (MSE(), lambda x: ((x - x.mean(0)) ** 2).sum(0)),
    "variance": (Var(), lambda x: x.var(0)),
    "sample_variance": (Var(order=1), lambda x: x.var(0, ddof=1)),
    "variance(2)": (Var(order=2), lambda x: x.var(0, ddof=2)),
    "std_dev": (StdDev(), lambda x: x.std(0)),
    "sample_std_dev": (StdDev(order=1), lambda x: x.std(0, ddof=1)),
    "min": (Min(), lambda x: x.min(0)),
    "max": (Max(), lambda x: x.max(0)),
    "sum": (Sum(), lambda x: x.sum(0)),
    "mine": (Mean("mine"), lambda x: x.mean(0)),
}


def array(found: Any) -> Any:
    return found.numpy() if isinstance(found, wb.Tensor) else found


def test_statistics_are_numpys() -> None:
    summarizer = Summarizer([stat for stat, _ in STATS.values()])
    assert summarizer.summary is None
    for value in VALUES:
        summarizer.update(wb.from_numpy(value, names=("H", "W")))
    found = summarizer.summary
    assert list(found) == list(STATS)
    for name, (_, wanted) in STATS.items():
        np.testing.assert_allclose(
            array(found[name]), wanted(VALUES.astype(np.float64)), rtol=1e-5, atol=1e-5
        )
    assert found["mean"].names == ("H", "W")
    assert (found["mean"].dtype, found["max"].dtype, found["variance"].dtype) == (
        wb.float32,
        wb.float32,
        wb.float64,
    )


def test_whole_numbers_have_a_mean_that_is_none() -> None:
    summarizer = Summarizer([Mean(), Max(), Var(order=1)])
    summarizer.update(wb.tensor([1, 2]))
    assert summarizer.summary["sample_variance"].tolist() == [0, 0]
    summarizer.update(wb.tensor([2, 2]))
    assert summarizer.summary["mean"].tolist() == [1.5, 2]
    assert summarizer.summary["max"].tolist() == [2, 2]
    assert summarizer.summary["max"].dtype == wb.int64


def test_classes_and_tuples_have_summaries_of_their_own() -> None:
    summarizer = ClassSummarizer(CommonStats())
    labels = [at % 3 for at in range(50)]
    both = wb.from_numpy(VALUES), wb.from_numpy(VALUES[:, 0] * 2)
    summarizer.update(both, wb.tensor(labels))
    for label in range(3):
        first, second = summarizer.class_summaries[label]
        np.testing.assert_allclose(first["mean"].numpy(), VALUES[label::3].mean(0), atol=1e-5)
        np.testing.assert_allclose(second["max"].numpy(), VALUES[label::3, 0].max(0) * 2)
    np.testing.assert_allclose(summarizer.summary[0]["mean"].numpy(), VALUES.mean(0), atol=1e-5)
    with pytest.raises(wb.DimensionError, match="2 labels for 50 samples"):
        summarizer.update(both, [0, 1])


def test_what_does_not_go_together_is_refused_and_changes_nothing() -> None:
    summarizer = Summarizer([Mean()])
    summarizer.update(wb.ones(2))
    with pytest.raises(wb.DimensionError, match=r"one shape, \[2\] so far; got \[3\]"):
        summarizer.update(wb.ones(3))
    with pytest.raises(wb.DimensionError, match="was one tensor so far; got a tuple of 2"):
        summarizer.update((wb.ones(2), wb.ones(2)))
    assert summarizer.summary["mean"].tolist() == [1, 1]
    with pytest.raises(TypeError, match=r"statistics such as Mean\(\), got 'mean'"):
        Summarizer(["mean"])  # type: ignore[list-item]


def test_baselines_are_drawn_and_go_together() -> None:
    wb.manual_seed(0)
    places = [("Paris", "France"), ("Rome", "Italy")]
    drawn = ProductBaselines({"who": ["Ada", "Bo"], ("city", "country"): places})
    seen = {tuple(drawn().values()) for _ in range(60)}
    assert seen == {(who, *place) for who in ("Ada", "Bo") for place in places}
    text = TextTemplateInput(
        "{who}, {city}", {"who": "X", "city": "Y"}, ProductBaselines({"who": ["a"], "city": ["b"]})
    )
    assert text.to_model_input(wb.tensor([[0.0, 1.0]])) == "a, Y"
    assert ProductBaselines([[1], [2]])() == [1, 2]
    with pytest.raises(ValueError, match="feature 1 has no values"):
        ProductBaselines([["a"], []])
    with pytest.raises(ValueError, match=r"each value of .* is a tuple of 2"):
        ProductBaselines({("a", "b"): [(1, 2, 3)]})


def test_a_method_that_is_attribute_alone() -> None:
    class Half(attribution.GradientAttribution):
        def attribute(self, inputs: Any, *arguments: Any, **settings: Any) -> Any:
            return attribution.Saliency(self.forward_func).attribute(inputs) / 2

    assert Half(lambda x: (x * 3).sum(1)).attribute(wb.ones(1, 2)).tolist() == [[1.5, 1.5]]
    assert Half.get_name() == "Half"
