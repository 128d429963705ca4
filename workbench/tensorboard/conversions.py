"""What a log is told, as what is written: numbers, arrays, pixels, settings, points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData
from tensorboardX.utils import figure_to_image

from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.embedding import Embedding
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain

__all__ = ["array", "embedding", "figures", "number", "picture", "pixels", "setting", "tell_domains"]

Array = np.ndarray[Any, Any]

_FORMATS = {("H", "W"): "HW", ("C", "H", "W"): "CHW", ("H", "W", "C"): "HWC", ("N", "C", "H", "W"): "NCHW"}


def array(values: Any) -> Array:
    """Return the numbers of a tensor, or of what NumPy takes."""
    return plain(values) if isinstance(values, Tensor) else np.asarray(values)


def number(tag: str, value: Any) -> float:
    """Return the one number that a scalar is; raises DimensionError where it is several."""
    values = array(value)
    if values.size != 1:
        raise DimensionError(
            f"scalar {tag!r} is one number, this has {values.size} values.",
            op="add_scalar",
            operands=(dims_of(value).operand("scalar_value"),) if isinstance(value, Tensor) else (),
            fix="add_scalar(tag, value.mean(), step), or add_histogram(tag, value, step)",
        )
    return float(values.reshape(()))


def picture(image: Any, dataformats: str | None) -> tuple[Array, str]:
    """Return the pixels and the order of their dims in the words of tensorboardX."""
    values = array(image)
    names = image._names if isinstance(image, Tensor) else None
    if names is None:
        order = dataformats or "CHW"
        if len(order) != values.ndim:
            raise DimensionError(
                f"dataformats {order!r} are {len(order)} dims, the picture has {values.ndim}.", op="add_image"
            )
        return values, order
    wanted = next((known for known in _FORMATS if set(known) == set(names)), None)
    if wanted is None:
        raise DimensionError(
            f"a picture has dims H and W, with C and N where there are, not {list(names)}.",
            op="add_image",
            operands=(dims_of(image).operand("img_tensor"),),
            fix="img_tensor.rename(...)",
        )
    return values.transpose([names.index(name) for name in wanted]), _FORMATS[wanted]


def pixels(values: Array) -> Array:
    """Return what can be drawn: floats cut off at 0 and 1."""
    if values.dtype.kind != "f":
        return values
    # NaN is drawn black: made a byte as it is, it would be any grey.
    clipped: Array = np.clip(np.nan_to_num(values), 0.0, 1.0)
    return clipped


def figures(drawn: Any, close: bool) -> tuple[Array, str]:
    """Return what Matplotlib drew, and the order of its dims; several figures need one size."""
    if not isinstance(drawn, Sequence):
        return figure_to_image(drawn, close), "CHW"
    sizes = {tuple(figure.canvas.get_width_height()) for figure in drawn}
    if len(sizes) != 1:
        raise DimensionError(
            f"figures beside each other have one size, these have {sorted(sizes)} pixels; give each a tag of its own",
            op="add_figure",
        )
    return figure_to_image(list(drawn), close), "NCHW"


def setting(name: str, value: Any) -> float | str | bool:
    """Return a hyperparameter as it is written; raises TypeError where it is no text, number or truth value."""
    if isinstance(value, bool | str | int | float):
        return value
    if isinstance(value, Tensor | np.generic) and array(value).size == 1:
        one: Any = array(value).reshape(()).item()
        return one if isinstance(one, bool | int | float | str) else str(one)
    raise TypeError(
        f"hyperparameter {name!r} is a text, a number or a truth value, got {type(value).__name__}; str(...) makes a "
        "text of it"
    )


def tell_domains(made: Any, domains: Mapping[str, Sequence[Any]]) -> None:
    """Put the values that hyperparameters can have into the summary of an experiment."""
    data = made.value[0].metadata.plugin_data
    told = HParamsPluginData()
    told.ParseFromString(data.content)
    for info in told.experiment.hparam_infos:
        for value in domains.get(info.name, ()):
            one = info.domain_discrete.values.add()
            checked = setting(info.name, value)
            if isinstance(checked, bool):
                one.bool_value = checked
            elif isinstance(checked, str):
                one.string_value = checked
            else:
                one.number_value = float(checked)
    data.content = told.SerializeToString()


def embedding(
    mat: Any, metadata: Sequence[Any] | None, images: Any, header: Sequence[str] | None
) -> Embedding:
    """Return points with what is known of them."""
    if isinstance(mat, Embedding):
        return mat
    if header is None:
        return Embedding(mat, labels=metadata, images=images)
    rows = [list(row) for row in metadata or ()]
    if any(len(row) != len(header) for row in rows):
        wrong = next(i for i, row in enumerate(rows) if len(row) != len(header))
        raise DimensionError(
            f"metadata_header has {len(header)} columns, row {wrong} of metadata has {len(rows[wrong])}",
            op="add_embedding",
        )
    columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
    first = next(iter(columns), None)
    labels = None if first is None else columns.pop(first)
    return Embedding(mat, labels=labels, metadata=columns or None, images=images)
