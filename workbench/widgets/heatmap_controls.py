"""What can be asked of a model in the attribution view, and what is worked on."""

from __future__ import annotations

from typing import get_args

from workbench.attribution.asking import Baseline, Shown
from workbench.attribution.method_settings import Setting
from workbench.attribution.study import Study
from workbench.attribution.study_methods import StudyMethod
from workbench.live.messages import (
    HeatmapControls,
    HeatmapMethod,
    HeatmapOther,
    HeatmapSetting,
    HeatmapWork,
)
from workbench.widgets.heatmap_answer import worst

__all__ = ["BLUR_WIDTH", "controls_of", "other_of", "work_of"]

LONGEST = 200
"""Most characters of a text that travel."""

MOST_LAYERS = 500
"""Most layers that are offered."""

BLUR_WIDTH = Setting("blur_width", "number", None)
"""How wide pictures are blurred where a method starts from blurred ones: set of the question, not of the method."""


def controls_of(study: Study) -> HeatmapControls:
    """Return what can be asked, and what is asked now."""
    asked = study.asked
    method = study.methods[asked.method]
    given = dict(asked.settings)
    return HeatmapControls(
        models=[name[:LONGEST] for name in study.models],
        model=asked.model,
        other=asked.other,
        methods=[
            HeatmapMethod(name, one.title, one.layer) for name, one in study.methods.items() if one.offered
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
            for one in method.settings
            if one.kind != "other"
        ]
        + _baseline(study, method),
        layers=study.layers()[:MOST_LAYERS],
        layer=asked.layer,
        target=str(asked.target),
        targets=["predicted"]
        + (["true"] if study.labels is not None else [])
        + (["given"] if study.given is not None else []),
        made=method.made[:LONGEST],
    )


def _choices(setting: Setting, value: object) -> list[str]:
    """Return what can be chosen; what was set in Python stands first, so that the view shows it."""
    own = [] if value in setting.choices else [setting.typed(value)]
    return [*own, *setting.choices] if setting.choices else []


def _baseline(study: Study, method: StudyMethod) -> list[HeatmapSetting]:
    """Return the choice of a baseline, of a method that starts from one, and how wide pictures are blurred for it."""
    if not method.takes("baselines"):
        return []
    there = {"given": study.baselines is not None, "blurred": bool(study.pictures)}
    choices = [one for one in get_args(Baseline) if there.get(one, True)]
    blur = ", or each picture blurred" if study.pictures else ""
    meaning = f"What the input is compared with: zeros, the mean of all samples{blur}."
    baseline = HeatmapSetting("baseline", "choice", study.asked.baseline, choices, "baseline", meaning)
    if study.asked.baseline != "blurred":
        return [baseline]
    width = BLUR_WIDTH.typed(study.asked.blur_width)
    meaning = "Standard deviation of the blur: the wider, the less of the picture is left in its baseline."
    return [baseline, HeatmapSetting(BLUR_WIDTH.name, BLUR_WIDTH.kind, width, [], "blur, pixels", meaning)]


def work_of(study: Study) -> HeatmapWork | None:
    """Return what is worked on; None where nothing is."""
    runs = study.runs
    if runs is None:
        return None
    asked = study.asked
    samples = len(asked.samples)
    what = f"{study.methods[asked.method].title} of " + (
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
        delta=None if result is None else worst(result.delta, range(len(result))),
        tolerance=None if result is None else worst(result.tolerance, range(len(result))),
        seconds=None if result is None else result.seconds,
    )
