"""Modules for several devices: with the one that is here, `DataParallel` runs the module as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.errors import UnavailableError
from workbench.base.public import words
from workbench.nn.module import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]

PYTORCH_FILES = ("data_parallel", "distributed", "parallel_apply", "replicate", "scatter_gather")
"""Files that PyTorch has here."""


class DataParallel(Module):
    """Runs `module`, which it keeps under that name: keys of its state begin with ``module.``, as PyTorch's do.

    `device_ids` may name one device at most, which `module` is on: nothing is divided here.

    >>> import workbench as wb
    >>> model = DataParallel(wb.nn.Linear(2, 1))
    >>> model(wb.zeros(3, 2)).shape, sorted(model.state_dict())
    ((3, 1), ['module.bias', 'module.weight'])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids = list(device_ids or ())
        self.output_device = output_device
        self.dim = dim
        if len(self.device_ids) > 1:
            raise UnavailableError(
                f"DataParallel: batches are not divided among devices here, and {self.device_ids} are several: "
                "leave device_ids out, or name one"
            )

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return what `module` returns."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """A module of many processes. Raises UnavailableError: there is one process here."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        raise UnavailableError(
            "nn.parallel.DistributedDataParallel: there is one process here: use the module itself, which computes the "
            "same where a program asks distributed.is_available() and is_initialized() first"
        )


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Return what `module` returns: nothing is divided here."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))


__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)
