"""The tensor: a payload with names and a place on the tape, and the words people use on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from workbench.base import renderer_lookup
from workbench.base.devices import Device
from workbench.base.dims import Names, check_names, dim_index
from workbench.base.dtypes import DType, dtype_of, get_default_dtype
from workbench.base.errors import DTypeError
from workbench.base.memory_formats import Layout, sparse_coo, sparse_csr, strided
from workbench.base.numbers import fitted
from workbench.base.quantized_array import QuantizedArray
from workbench.base.seams import Seam
from workbench.base.sparse_array import SparseArray
from workbench.core import dispatch
from workbench.core.backend import device_of
from workbench.core.bases import eager
from workbench.core.inplace import overwrite, plainly, write
from workbench.core.labels import labels_of_view
from workbench.core.op import ops
from workbench.core.origins import note_line
from workbench.core.overlap import check_sources
from workbench.core.size import Size
from workbench.core.tape import Node
from workbench.core.value import dims_of, new, use_type
from workbench.core.views import asks
from workbench.ops.elementwise.filling import fill
from workbench.tensor import copying, gradients, interchange, naming, sharing, subscripts
from workbench.tensor.absent import absent_attribute
from workbench.tensor.annotations import Spec
from workbench.tensor.legacy_values import check_device, values_of
from workbench.tensor.methods import Methods
from workbench.tensor.operators import PLAIN
from workbench.tensor.printing import tensor_repr

__all__ = ["BACKWARD", "Tensor"]

_compiled_fill, _compiled_copy = (None, None) if eager is None else (eager.filled, eager.copied)
"""Write into plain memory and say so; where that could be noticed, or refused, they do nothing."""
_STATE = (
    "payload", "_names", "_labels", "_owner", "_requires_grad", "_grad_fn", "_output", "_view", "_seen", "_leaf",
    "_borrowed", "_inference", "_past", "_origin",
)  # fmt: skip
"""What makes one value a view of another: its numbers, and its place on the tape."""
BACKWARD = Seam("the walk over the tape", "workbench.autograd.engine")
"""``BACKWARD(tensors, gradients, retain_graph, create_graph, None, inputs)``: what `Tensor.backward` does."""


class Tensor(Methods):
    """An n-dimensional array whose dims have names, on which gradients can be recorded.

    Make one with `workbench.tensor`, `workbench.zeros`, `workbench.randn`, … The methods are the functions of
    the same names in `workbench`.

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, 2.0], [3.0, 4.0]], names=("N", "C"))
    >>> (x * 2).sum("C")
    tensor([ 6., 14.], names=('N',))
    """

    __slots__ = ()
    __hash__ = object.__hash__
    """Operators are bound later, from `tensor.operators`: equality is one of them, and compares values."""
    __array_priority__ = 1000
    _grad: Tensor | None = None
    _hooks: list[Callable[[Tensor], Tensor | None]] | None = None
    _after_gathering: list[Callable[[Tensor], None]] | None = None
    _retains_grad: bool = False

    def __class_getitem__(cls, asked: Any) -> Any:
        """Return an annotation, as in ``Tensor["N C H W"]`` or ``Tensor["... C=3", wb.float32]``: see `names.check`."""
        words, dtype = asked if isinstance(asked, tuple) and len(asked) == 2 else (asked, None)
        return Annotated[cls, Spec.read(words, dtype)]

    def __init__(self, *data: Any, names: Any = None, device: Any = None) -> None:
        """Make a tensor of the default type with a copy of `data`; `workbench.tensor` keeps the type of the data.

        Whole numbers are sizes: ``Tensor(2, 3)`` has memory as it is, and so has ``Tensor(x.size())``. A tensor is
        viewed: its type, memory and gradients are shared.
        """
        check_device("Tensor", device)
        if len(data) == 1 and isinstance(data[0], Tensor):
            # The view itself cannot be returned: this is another object, in the same state.
            view = data[0][...]
            for slot in _STATE:
                setattr(self, slot, getattr(view, slot))
            if names is not None:
                self._names = check_names(names, len(self.payload.shape))
            return
        self.payload = values_of("Tensor", data, get_default_dtype().numpy)
        self._names = check_names(names, self.payload.ndim) if names is not None else None

    # ------------------------------------------------------------------------------------- what it is

    if TYPE_CHECKING or eager is None:  # else compiled, in the base of values

        @property
        def shape(self) -> Size:
            """Sizes of the dims."""
            return Size(self.payload.shape)

    @property
    def dtype(self) -> DType:
        """Type of the values."""
        return dtype_of(self.payload)

    @property
    def device(self) -> Device:
        """Where the values are: ``cpu``, or a backend's device."""
        return device_of(self.payload)

    @property
    def layout(self) -> Layout:
        """How the values are kept: ``strided``, each at its own place, ``sparse_coo`` or ``sparse_csr``."""
        return self.payload.layout if type(self.payload) is SparseArray else strided

    @property
    def is_sparse(self) -> bool:
        """True if the values that are not 0 are kept with their places, in layout ``sparse_coo``."""
        return self.layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        """True for a matrix kept by compressed rows, in layout ``sparse_csr``."""
        return self.layout is sparse_csr

    @property
    def is_nested(self) -> bool:
        """False: tensors of rows of different lengths are not here. `nn.utils.rnn.pad_sequence` pads such rows."""
        return False

    @property
    def is_cpu(self) -> bool:
        """True if the values are in the memory of the CPU."""
        return self.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """True if the values are on an NVIDIA GPU."""
        return self.device.type == "cuda"

    @property
    def names(self) -> Names:
        """Names of the dims; None for a dim without one. Assign to rename in place."""
        return self._names or (None,) * len(self.payload.shape)

    @names.setter
    def names(self, names: Names | None) -> None:
        self._names = check_names(names, len(self.payload.shape))
        note_line(self)

    @property
    def dim_labels(self) -> Names:
        """What the dims are called in pictures: their names, or what a layer says of a parameter that has none.

        A view of a parameter is called as its dims are.

        Labels refuse nothing between values without names; an op that gets values with names beside them takes them
        for names. Assign to label the dims of a tensor, ``weight.dim_labels = ("out_features", "in_features")``.
        """
        return labels_of_view(self)

    @dim_labels.setter
    def dim_labels(self, labels: Names | None) -> None:
        self._labels = check_names(labels, len(self.payload.shape))

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.payload.shape)

    @property
    def itemsize(self) -> int:
        """Bytes a value takes."""
        return int(self.payload.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes that the values take."""
        return self.numel() * self.dtype.itemsize

    @property
    def T(self) -> Tensor:
        """All dims in reverse order."""
        return ops.permute(self, dim=tuple(range(len(self.payload.shape) - 1, -1, -1)))

    @property
    def real(self) -> Tensor:
        """The real parts, in shared memory; the tensor itself if it is real."""
        return ops.real(self) if self.dtype.is_complex else self

    @property
    def imag(self) -> Tensor:
        """The imaginary parts, in shared memory; only complex tensors have them."""
        if not self.dtype.is_complex:
            raise DTypeError("imag is not implemented for tensors with non-complex dtypes.")
        return ops.imag(self)

    @property
    def is_quantized(self) -> bool:
        """True if the values are integer codes with a scale and a zero point."""
        # Of the type: a stand-in in a trace has no codes.
        return self.dtype.is_quantized

    def dim(self) -> int:
        """Number of dims."""
        return self.ndim

    def size(self, dim: int | str | None = None) -> Any:
        """Sizes of all dims, or the size of one, by position or name."""
        shape = self.payload.shape
        if dim is None:
            return Size(shape)
        # As a rule a position that is there.
        if type(dim) is int and -len(shape) <= dim < len(shape):
            return shape[dim]
        return shape[dim_index(dims_of(self), dim, "size")]

    def numel(self) -> int:
        """Number of values."""
        return dims_of(self).numel

    if not TYPE_CHECKING:  # a type checker would take every word for an attribute

        def __getattr__(self, name: str) -> Any:
            # Asked only for what is nowhere else.
            raise absent_attribute(name, type(self), self)

    def __repr__(self) -> str:
        return tensor_repr(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)

    # ------------------------------------------------------------------------- names: `tensor.naming`

    has_names = naming.has_names
    rename, rename_ = naming.rename, naming.rename_
    refine_names = naming.refine_names
    align_to, align_as = naming.align_to, naming.align_as

    # --------------------------------------------- to Python, NumPy and others: `tensor.interchange`

    numpy, tolist, item = interchange.numpy, interchange.tolist, interchange.item
    __float__, __int__, __complex__ = interchange.to_float, interchange.to_int, interchange.to_complex
    __index__, __bool__, __format__ = interchange.to_index, interchange.truth, interchange.formatted
    __len__, __iter__ = interchange.length, interchange.iterate
    __reversed__, __contains__ = interchange.reverse, interchange.contains
    ndimension, nelement, element_size = (
        interchange.ndimension,
        interchange.nelement,
        interchange.element_size,
    )
    data_ptr, is_set_to = interchange.data_ptr, interchange.is_set_to
    share_memory_, is_shared = sharing.share_memory_, sharing.is_shared
    shares_storage = interchange.shares_storage
    __array__, __array_ufunc__ = interchange.array, interchange.array_ufunc
    __array_function__ = interchange.array_function
    __dlpack__, __dlpack_device__ = interchange.dlpack_capsule, interchange.dlpack_device

    # ---------------------------------------------------------------------- copies: `tensor.copying`

    __copy__, __deepcopy__ = copying.shallow, copying.deep
    __reduce_ex__ = copying.reduced

    # ---------------------------------------------------------------------------------- values by place

    if TYPE_CHECKING or eager is None:  # else compiled, and what is not plain comes to the same functions
        __getitem__, __setitem__ = subscripts.getitem, subscripts.setitem
        __delitem__ = subscripts.delitem

    # -------------------------------------------------------------------------------------- gradients

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` has accumulated here (leaves only). Assign one of the same dims and type."""
        gradient = self._grad
        if gradient is not None and self._labels is not None and gradient._labels is None:
            gradient._labels = self._labels  # here and not where it is made: who draws it asks here
        return gradient

    @grad.setter
    def grad(self, gradient: Tensor | None) -> None:
        if gradient is not None:
            gradients.check(self, gradient)
        self._grad = gradient

    @property
    def requires_grad(self) -> bool:
        """True if `backward` will reach this tensor. Assign to ask for it."""
        return asks(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def is_leaf(self) -> bool:
        """True if no recorded op made this tensor."""
        return not asks(self) or self._grad_fn is None

    @property
    def grad_fn(self) -> Node | None:
        """The recorded call that made this tensor."""
        return self._grad_fn if asks(self) else None

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Accumulate the gradient of this tensor into ``.grad`` of the leaves it was made from, or of `inputs` alone.

        Raises `AutogradError` where there is nothing to differentiate, or where what was saved is gone or changed.

        >>> import workbench as wb
        >>> x = wb.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        BACKWARD(self, gradient, retain_graph, create_graph, None, inputs)

    requires_grad_, retain_grad = gradients.requires_grad_, gradients.retain_grad
    register_hook = gradients.register_hook
    register_post_accumulate_grad_hook = gradients.register_post_accumulate_grad_hook
    detach, detach_ = gradients.detach, gradients.detach_

    @property
    def retains_grad(self) -> bool:
        """True if `retain_grad` was asked for."""
        return self._retains_grad

    def is_inference(self) -> bool:
        """True for a tensor made in `inference_mode`."""
        return self._inference

    @property
    def data(self) -> Tensor:
        """The same values off the tape; memory is shared, and the tape does not hear of changes made this way.

        Assign to put other memory of that shape and type here.
        """
        return gradients.data(self)

    @data.setter
    def data(self, value: Tensor) -> None:
        gradients.set_data(self, value)

    # --------------------------------------------------------------------------------- in-place changes

    def fill_(self, value: Any) -> Tensor:
        """Set every value to one number, or to that of a 0-dim tensor."""
        if _compiled_fill is not None and _compiled_fill(self, value):
            return self
        if not isinstance(value, Tensor) and plainly(self):
            overwrite(self, "fill_", np.asarray(fitted("fill_", value, self.payload.dtype)))
            return self

        def filled(old: Any) -> Any:
            result = fill(old, value)
            recorded = dispatch.grad_enabled() and isinstance(value, Tensor) and asks(value)
            return ops.copy(old, result) if recorded else result

        return write(self, "fill_", filled, one=True)

    def zero_(self) -> Tensor:
        """Set every value to 0."""
        return self.fill_(0)

    def copy_(self, src: Any, non_blocking: bool = False) -> Tensor:
        """Copy values in; sizes broadcast, types are cast. `non_blocking` changes nothing here."""
        if _compiled_copy is not None and _compiled_copy(self, src):
            return self
        value = src if isinstance(src, Tensor) else new(np.asarray(src))
        here, there = self.payload, value.payload
        if isinstance(there, QuantizedArray) and not isinstance(here, QuantizedArray):
            raise DTypeError(
                "copy_: Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to "
                "get a float Tensor from a quantized Tensor"
            )
        if type(here) is np.ndarray:
            check_sources(here, (value,), "copy_")
            alike = type(there) is np.ndarray and there.dtype == here.dtype and there.shape == here.shape
            named = self._names is not None or value._names is not None
            if alike and not named and self._view is None and plainly(self, value):
                overwrite(self, "copy_", there)
                return self

        def copied(old: Any) -> Any:
            # What is written into codes is rounded to them: it is not cast before.
            plain = there.dtype == here.dtype or isinstance(here, QuantizedArray)
            cast = value if plain else ops.to(value, dtype=here.dtype)
            whole = cast if there.shape == here.shape else ops.expand(cast, sizes=tuple(here.shape))
            return ops.copy(old, whole) if dispatch.grad_enabled() and (asks(old) or asks(whole)) else whole

        return write(self, "copy_", copied)


PLAIN.add(Tensor)


use_type(Tensor)
