"""What converting a calibrated model makes of its graph, as a view model that is made when somebody asks for it."""

from __future__ import annotations

import threading

from workbench.live.messages import SelectEvent
from workbench.live.model import Refused
from workbench.live.registry import registry
from workbench.quantization.calibration import Calibration
from workbench.quantization.calibration_entry import Entry
from workbench.widgets.diff import DiffModel

__all__ = ["ShownDifference"]


class ShownDifference:
    """The difference between the floating point form of a model and its integer form by the present ranges.

    It is traced anew only where a range has changed since.
    """

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration
        self._lock = threading.Lock()
        self._model: DiffModel | None = None
        self._versions: tuple[int, ...] = ()

    def show(self, entry: Entry) -> DiffModel:
        """Show it in the panel with the node picked that has the values of `entry`, and return its view model.

        Raises `QuantizationError` where there is no batch to trace the model for, or it is not calibrated.
        """
        with self._lock:
            calibration = self._calibration
            versions = () if calibration.measurement is None else calibration.measurement.versions()
            if self._model is None or versions != self._versions:
                title = f"{calibration.title}: float → integer"
                self._model, self._versions = DiffModel(calibration.difference(), title), versions
            assert calibration.measurement is not None  # without one there is no difference
            try:
                self._model.show_place(calibration.measurement.places_of(entry.point))
            except Refused:
                # The integer form computes it within another step: the whole is shown.
                self._model.handle(SelectEvent("select", None))
            return registry.show(self._model)
