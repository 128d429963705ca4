"""What can be asked of a model in the attribution view, and what is worked on."""

from __future__ import annotations

from typing import get_args

from workbench.attribution.asking import Baseline, Shown
from workbench.attribution.base import Attribution
from workbench.attribution.method_settings import Setting, offered, settings_of, takes, takes_layer
from workbench.attribution.methods import METHODS
from workbench.attribution.study import Study
from workbench.live.messages import (
    HeatmapControls,
    HeatmapMethod,
    HeatmapOther,
    HeatmapSetting,
    HeatmapWork,
)
from workbench.tensor import Tensor

__all__ = ["controls_of", "other_of", "work_of"]

LONGEST = 200
"""Most characters of a text that travel."""

MOST_LAYERS = 500
"""Most layers that are offered."""


def controls_of(study: Study) -> HeatmapControls:
    """Return what can be asked, and what is asked now."""
    asked = study.asked
    kind = METHODS[asked.method]
    given = dict(asked.settings)
    return HeatmapControls(
        models=[name[:LONGEST] for name in study.models],
        model=asked.model,
        other=asked.other,
        methods=[
            HeatmapMethod(name, kind.name, takes_layer(kind))
            for name, kind in METHODS.items()
            if offered(kind)
        ],
        method=asked.method,
        settings=[
            HeatmapSetting(
                one.name,
                one.kind,
                one.typed(given.get(one.name, one.default)),
                _choices(one, given.get(one.name, one.default)),
                one.label,
                one.meaning,
            )
            for one in settings_of(kind)
            if one.kind != "other"
        ]
        + _baseline(study, kind),
        layers=study.layers()[:MOST_LAYERS],
        layer=asked.layer,
        target=str(asked.target),
        targets=["predicted"]
        + (["true"] if study.labels is not None else [])
        + (["given"] if study.given is not None else []),
    )


def _choices(setting: Setting, value: object) -> list[str]:
    """Return what can be chosen; what was set in Python stands first, so that the view shows it."""
    own = [] if value in setting.choices else [setting.typed(value)]
    return [*own, *setting.choices] if setting.choices else []


def _baseline(study: Study, kind: type[Attribution]) -> list[HeatmapSetting]:
    """Return the choice of a baseline, of a method that starts from one."""
    if not takes(kind, "baselines"):
        return []
    choices = [one for one in get_args(Baseline) if one != "given" or study.baselines is not None]
    meaning = "What the input is compared with: zeros, or the mean of all samples."
    return [HeatmapSetting("baseline", "choice", study.asked.baseline, choices, "baseline", meaning)]


def work_of(study: Study) -> HeatmapWork | None:
    """Return what is worked on; None where nothing is."""
    runs = study.runs
    if runs is None:
        return None
    asked = study.asked
    samples = len(asked.samples)
    what = f"{METHODS[asked.method].name} of " + (
        f"{samples} samples" if samples > 1 else f"sample {asked.samples[0]}"
    )
    return HeatmapWork(what[:LONGEST], runs.rows, runs.total, runs.seconds)


def other_of(shown: Shown) -> HeatmapOther | None:
    """Return what the other model answered, or why it did not; None where none was asked."""
    if shown.ask.other is None:
        return None
    result = shown.beside
    return HeatmapOther(
        name=shown.ask.other,
        trouble=shown.beside_failure[:1000],
        delta=None if result is None else _worst(result.delta),
        tolerance=None if result is None else _worst(result.tolerance),
        seconds=None if result is None else result.seconds,
    )


def _worst(values: Tensor | None) -> float | None:
    return None if values is None else float(max(values.numpy().tolist(), key=abs))
