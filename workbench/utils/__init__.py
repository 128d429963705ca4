"""Tools beside the tensors: measuring, trading time for memory, nests, logs; and data sets under PyTorch's name."""

from __future__ import annotations

from workbench import data
from workbench.base.public import words
from workbench.utils import _pytree as _pytree
from workbench.utils import benchmark, checkpoint, dlpack

__all__ = ["benchmark", "checkpoint", "data", "dlpack"]

__getattr__, __dir__ = words(
    __name__,
    __all__,
    later={"model_zoo": "workbench.utils.model_zoo", "tensorboard": "workbench.utils.tensorboard"},
)
