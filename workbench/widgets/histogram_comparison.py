"""Two settings of all observers beside each other: A, which was kept, and B."""

from __future__ import annotations

from workbench.live.messages import Comparison, Difference, ModelFigures
from workbench.quantization.calibration import Calibration
from workbench.quantization.calibration_changes import Setting
from workbench.quantization.metrics import Figures
from workbench.quantization.observer_settings import described
from workbench.widgets.histogram_rows import finite

__all__ = ["comparison_of", "figures_of"]

MOST_DIFFERENCES = 100
"""Most observers that are told apart."""


def comparison_of(calibration: Calibration) -> Comparison | None:
    """Return what is different between the two sides; None where nothing was kept."""
    sides = calibration.compared()
    if not sides:
        return None
    a, b = sides["A"], sides.get("B", sides["A"])
    held = None if calibration.measurement is None else calibration.measurement.samples
    differences = [
        Difference(
            entry.name,
            _words(a.settings[entry.name]),
            _words(b.settings[entry.name]),
            finite(a.sqnrs[entry.name]),
            finite(b.sqnrs[entry.name]),
        )
        for entry in calibration.ordered()
        if a.settings[entry.name] != b.settings[entry.name]
    ]
    return Comparison(
        "A" if calibration.active == "A" else "B",
        figures_of(a.figures, held),
        figures_of(b.figures, held),
        differences[:MOST_DIFFERENCES],
    )


def figures_of(figures: Figures, held: int | None) -> ModelFigures:
    """Return figures of a model as they travel; `held` samples are there to measure by."""
    return ModelFigures(figures.sqnr, figures.accuracy, figures.float_accuracy, figures.samples, held)


def _words(setting: Setting) -> str:
    made = None if setting.factory is None else described(setting.factory)
    said = "its own observer" if made is None else made.words()
    return (
        said
        if setting.range is None
        else f"{said} · {setting.range[0]:.3g} to {setting.range[1]:.3g} by hand"
    )
