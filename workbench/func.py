"""Functions of functions, composable with one another: PyTorch's `torch.func`.

>>> import workbench as wb
>>> from workbench import func
>>> x = wb.tensor([[1.0, 2.0], [3.0, 4.0]], names=("N", "C"))
>>> func.vmap(func.grad(lambda row: (row * row).sum()))(x)
tensor([[2., 4.],
        [6., 8.]], names=('N', 'C'))
"""

from __future__ import annotations

from workbench.autograd.jacobians import hessian, jacfwd, jacrev
from workbench.autograd.stateless import functional_call, stack_module_state
from workbench.autograd.transforms import grad, grad_and_value, jvp, linearize, vjp
from workbench.autograd.vmap import vmap
from workbench.base.public import words

__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)
