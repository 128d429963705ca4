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
from workbench.tensorboard.arguments import array, numbers
from workbench.tensorboard.projector_metadata import given_names, named

__all__ = [
    "curve",
    "embedding",
    "figures",
    "mesh",
    "number",
    "picture",
    "setting",
    "tell_domains",
    "text",
]

Array = np.ndarray[Any, Any]

_FORMATS = {("H", "W"): "HW", ("C", "H", "W"): "CHW", ("H", "W", "C"): "HWC", ("N", "C", "H", "W"): "NCHW"}


def number(tag: str, value: Any) -> float:
    """Return the one number that a scalar is; raises DimensionError where it is several, TypeError where it is none."""
    values = numbers(f"scalar {tag!r}", value)
    if values.size != 1:
        raise DimensionError(
            f"scalar {tag!r} is one number, this has {values.size} values.",
            op="add_scalar",
            operands=(dims_of(value).operand("scalar_value"),) if isinstance(value, Tensor) else (),
            fix="add_scalar(tag, value.mean(), step), or add_histogram(tag, value, step)",
        )
    return float(values.reshape(()))


def picture(tag: str, image: Any, dataformats: str | None) -> tuple[Array, str]:
    """Return the pixels, as they are drawn, and the order of their dims in the words of tensorboardX.

    Raises:
        DimensionError: they are not those of a picture.
        TypeError: the values are no real numbers.
    """
    values, order = _ordered(_pixels(tag, image), image, dataformats)
    sizes = dict(zip(order, values.shape, strict=True))
    if 0 in sizes.values() or sizes.get("C", 1) not in (1, 3, 4):
        raise DimensionError(
            f"picture {tag!r} has a pixel or more, of 1, 3 or 4 channels; {order} are {list(values.shape)} here",
            op="add_image",
        )
    return values, order


def _ordered(values: Array, image: Any, dataformats: str | None) -> tuple[Array, str]:
    """Return pixels and the order of their dims: by the names that these have, else as is said."""
    names = image._names if isinstance(image, Tensor) else None
    if names is None:
        order = (dataformats or "CHW").upper()
        if sorted(order) not in (["H", "W"], ["C", "H", "W"], ["C", "H", "N", "W"]):
            raise DimensionError(
                f"dataformats are H and W, with C and N where there are, in their order, e.g. 'CHW', got "
                f"{dataformats!r}",
                op="add_image",
            )
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


def _pixels(tag: str, image: Any) -> Array:
    """Return what can be drawn: bytes, or floats cut off at 0 and 1."""
    values = array(image)
    if values.dtype.kind in "iu":
        return np.clip(values, 0, 255).astype(np.uint8)
    # NaN is drawn black: made a byte as it is, it would be any grey.
    clipped: Array = np.clip(np.nan_to_num(numbers(f"picture {tag!r}", image)), 0.0, 1.0)
    return clipped


def figures(tag: str, drawn: Any, close: bool) -> tuple[Array, str]:
    """Return what Matplotlib drew, and the order of its dims; several figures need one size.

    Raises TypeError where it is no figure, and no list of some.
    """
    several = list(drawn) if isinstance(drawn, Sequence) else [drawn]
    if not several or not all(hasattr(one, "canvas") for one in several):
        given = ", ".join(sorted({type(one).__name__ for one in several})) or "an empty list"
        raise TypeError(f"figure {tag!r} is Matplotlib's, or a list of such, got {given}")
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


def curve(tag: str, labels: Any, predictions: Any, weights: Any) -> tuple[Array, Array, Array | None]:
    """Return what precision and recall are counted of; raises ValueError where it does not go together."""
    truth, sure = (
        numbers(f"{tag!r}: {name}", one).reshape(-1)
        for name, one in (("labels", labels), ("predictions", predictions))
    )
    if truth.shape != sure.shape:
        raise ValueError(f"{tag!r}: {truth.size} labels for {sure.size} predictions; each has one")
    if not np.isin(truth, (0, 1)).all():
        wrong = truth[~np.isin(truth, (0, 1))][0]
        raise ValueError(
            f"{tag!r}: labels are 0 and 1, got {wrong:g}; of several classes, (labels == one) is a curve"
        )
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError(
            f"{tag!r}: predictions are probabilities between 0 and 1; sigmoid() makes them of logits"
        )
    given = None if weights is None else numbers(f"{tag!r}: weights", weights).reshape(-1)
    if given is not None and given.size not in (1, truth.size):
        raise ValueError(
            f"{tag!r}: {given.size} weights for {truth.size} predictions; each has one, or all the same"
        )
    return truth, sure, given


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
    header = named(list(map(str, header)))
    if len(set(header)) != len(header):
        raise ValueError(f"metadata_header names a column twice: {', '.join(header)[:200]}")
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
