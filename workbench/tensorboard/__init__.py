"""TensorBoard, both ways: logs and points for its projector, written of tensors and read back.

>>> import tempfile, workbench as wb
>>> with tempfile.TemporaryDirectory() as folder:
...     with wb.tensorboard.SummaryWriter(folder) as writer:
...         writer.add_scalar("loss", 0.5, 1)
...     wb.tensorboard.open(folder).scalars("loss")[".", "loss"].values.tolist()
[0.5]
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.tensorboard import projector
from workbench.tensorboard.log import DamagedLogWarning, Log, open, scalars
from workbench.tensorboard.run import Run
from workbench.tensorboard.series import Histogram, Histograms, Pictures, PrecisionRecall, Series, Texts
from workbench.tensorboard.writer import SummaryWriter

__all__ = [
    "DamagedLogWarning", "Histogram", "Histograms", "Log", "Pictures", "PrecisionRecall", "Run", "Series",
    "SummaryWriter", "Texts", "open", "projector", "scalars",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)
