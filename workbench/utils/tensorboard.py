"""TensorBoard's logs under PyTorch's path."""

from __future__ import annotations

from tensorboardX import FileWriter, RecordWriter

from workbench.base.public import words
from workbench.tensorboard import SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]

__getattr__, __dir__ = words(__name__, __all__)
