"""What a log is told, as what is written: numbers, arrays, pixels, settings, points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tensorboardX import summary
from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData
from tensorboardX.proto.plugin_mesh_pb2 import MeshPluginData
from tensorboardX.utils import figure_to_image

from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.embedding import Embedding
from workbench.embedding.thumbnails import as_images
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain
from workbench.tensorboard.projector_metadata import given_names

__all__ = [
    "array",
    "embedding",
    "figures",
    "mesh",
    "number",
    "picture",
    "pixels",
    "setting",
    "tell_domains",
    "text",
]

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


def text(tag: str, value: Any) -> str:
    """Return the text that is written; raises TypeError where it is something else."""
    if not isinstance(value, str):
        raise TypeError(
            f"text {tag!r} is a str, got {type(value).__name__}; str(...) makes one of it, add_scalar takes numbers"
        )
    return value


def mesh(tag: str, vertices: Any, colors: Any, faces: Any, settings: Mapping[str, Any] | None) -> Any:
    """Return the summary of surfaces; raises DimensionError where the parts of one do not go together."""
    parts = {
        name: None if one is None else array(one)
        for name, one in (("vertices", vertices), ("colors", colors), ("faces", faces))
    }
    batch = len(array(vertices)) if array(vertices).ndim else 0
    for name, part in parts.items():
        if part is not None and (part.ndim != 3 or part.shape[2] != 3 or len(part) != batch):
            raise DimensionError(
                f"mesh {tag!r}: {name} are [N, {name if name == 'faces' else 'vertices'}, 3], one N for all, got "
                f"{list(part.shape)}; wb.unsqueeze(..., 0) makes a batch of one",
                op="add_mesh",
            )
    made = summary.mesh(tag, parts["vertices"], parts["colors"], parts["faces"], dict(settings or {}))
    # TensorBoard waits for all parts unless it is told which there are; tensorboardX leaves that field (7) away.
    kinds = {"vertices": MeshPluginData.VERTEX, "faces": MeshPluginData.FACE, "colors": MeshPluginData.COLOR}
    there = sum(1 << kinds[name] for name, part in parts.items() if part is not None)
    for value in made.value:
        value.metadata.plugin_data.content += bytes((7 << 3, there))
    return made


def embedding(
    mat: Any, metadata: Sequence[Any] | None, images: Any, header: Sequence[str] | None
) -> Embedding:
    """Return points with what is known of them; of an `Embedding` that, and what is given beside it.

    Raises ValueError where both have labels, pictures or columns of one name.
    """
    labels, columns, label_name = _told(metadata, header)
    if not isinstance(mat, Embedding):
        return Embedding(
            mat, labels=labels, metadata=columns or None, images=images, label_name=label_name or "label"
        )
    if labels is None and not columns and images is None:
        return mat
    twice = [
        *(["labels"] if labels is not None and mat.labels is not None else []),
        *(["pictures"] if images is not None and mat.thumbnails is not None else []),
        *(f"a column {name!r}" for name in columns if name in mat.columns),
    ]
    if twice:
        raise ValueError(
            f"add_embedding: the embedding has {' and '.join(twice)}, and others are given beside it; leave one away"
        )
    kept = mat.thumbnails
    made = Embedding(
        mat.vectors,
        mat.labels if labels is None else labels,
        names=given_names(mat),
        metadata={**mat.columns, **columns},
        images=images if kept is None else as_images(kept),
        label_name=label_name if labels is not None and label_name else mat.label_name,
        title=mat.title,
    )
    made.bookmarks = mat.bookmarks
    return made


def _told(
    metadata: Sequence[Any] | None, header: Sequence[str] | None
) -> tuple[Any, dict[str, list[Any]], str]:
    """Return labels, columns and what labels are called, of what `add_embedding` is told."""
    if not header:
        return metadata, {}, ""
    if len(set(header)) != len(header):
        raise ValueError(f"metadata_header names a column twice: {', '.join(map(str, header))[:200]}")
    rows = [list(row) for row in metadata or ()]
    if any(len(row) != len(header) for row in rows):
        wrong = next(i for i, row in enumerate(rows) if len(row) != len(header))
        raise DimensionError(
            f"metadata_header has {len(header)} columns, row {wrong} of metadata has {len(rows[wrong])}",
            op="add_embedding",
        )
    columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
    label_name = next(iter(columns))
    return columns.pop(label_name), columns, label_name
