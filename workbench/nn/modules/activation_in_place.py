"""What activations share that can change their input itself."""

from __future__ import annotations

from workbench.nn.module import Module

__all__ = ["InPlace"]


class InPlace(Module):
    """Base of activations whose only setting is `inplace`: the result goes into the memory of the input.

    Gradients are recorded as for a result of its own. Raises `AutogradError` for a leaf that requires a gradient.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the setting, where it was given."""
        return "inplace=True" if self.inplace else ""

    def _and_inplace(self) -> str:
        """Return the setting as it stands after others."""
        return ", inplace=True" if self.inplace else ""
