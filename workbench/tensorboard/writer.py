"""Writing a TensorBoard log: PyTorch's words, of tensors; tensorboardX makes the messages."""

from __future__ import annotations

import os
import struct
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from tensorboardX import summary
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboardX.proto.tensor_pb2 import TensorProto
from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto

from workbench.graph import Graph
from workbench.onnx import load
from workbench.tensorboard import conversions, projector
from workbench.tensorboard.arguments import array, charts, dictionary, numbers, step_of, tag_of
from workbench.tensorboard.graph_def import TYPES, graph_def, graph_of
from workbench.tensorboard.media_writer import MediaWriter

__all__ = ["SummaryWriter"]

_POSITIVE = np.append(1e-12 * 1.1 ** np.arange(774), np.finfo(np.float64).max)
_BINS = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])
"""Borders of histogram bins: those that TensorFlow uses."""


class SummaryWriter(MediaWriter):
    """Writes what TensorBoard shows, of tensors: scalars, histograms, pictures, texts, curves, graphs, points.

    `log_dir` is a folder, ``runs/<date>_<machine><comment>`` by itself. Use it in a ``with`` block, or close it. Events
    are written at once, in the caller's thread, and reach the disk every `flush_secs` seconds, with `flush` or `close`;
    every writer has a file of its own. `purge_step` says that a program which was killed begins again at that step:
    readers forget what comes after. `add_summary` takes anything else that `tensorboardX.summary` makes.

    The signatures are those of PyTorch's writer. `max_queue` makes no difference, since nothing waits in one.

    Raises:
        NotADirectoryError: `log_dir` is a file.

    >>> import tempfile, workbench as wb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SummaryWriter(folder) as writer:
    ...         writer.add_scalar("loss", wb.tensor(0.5), 1)
    ...     wb.tensorboard.scalars(folder)["loss"].values.tolist()
    [0.5]
    """

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write one number; in float32, or with `double_precision` in float64.

        `new_style` writes it as a tensor, as TensorFlow 2 does; TensorBoard shows both alike.
        """
        number = conversions.number(tag, scalar_value)
        if new_style or double_precision:
            kind = "d" if double_precision else "f"
            tensor = TensorProto(
                dtype="DT_DOUBLE" if double_precision else "DT_FLOAT",
                tensor_content=struct.pack(f"<{kind}", number),
                tensor_shape=TensorShapeProto(),
            )
            about = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
            made = Summary(value=[Summary.Value(tensor=tensor, metadata=about)])
        else:
            made = summary.scalar("", number)
        self._add(tag, made, global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write a tensor as it is, for programs that read logs: TensorBoard shows none.

        Raises TypeError where it holds anything else than numbers or truth values.
        """
        values = array(tensor)
        kind = TYPES.get(values.dtype.name)
        if kind is None:
            raise TypeError(f"tensor {tag!r} holds numbers or truth values, got {values.dtype.name}")
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in values.shape])
        content = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
        made = TensorProto(dtype=kind, tensor_content=content, tensor_shape=shape)
        self._add(tag, Summary(value=[Summary.Value(tensor=made)]), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write several numbers that are shown in one chart: each as `main_tag` of a run in a folder here."""
        for tag, value in dictionary("tag_scalar_dict", tag_scalar_dict).items():
            conversions.number(tag, value)
        tag_of(main_tag)
        for tag, value in tag_scalar_dict.items():
            name = f"{main_tag.replace('/', '_')}_{tag}"
            self._part(name).add_scalar(main_tag, value, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Write how values are distributed; NaN and infinite values are left out.

        `bins` are what `numpy.histogram` takes; by default they grow by a tenth, from 1e-12 to 1e20, on both sides of
        0, with one bin beyond on either, so that histograms of all steps go together. Where no value is left, nothing
        is written, and a warning says so. Raises ValueError where none lies between the borders that are given.
        """
        every = numbers(f"histogram {tag!r}", values).reshape(-1)
        finite = every[np.isfinite(every)]
        if finite.size == 0:
            warnings.warn(
                f"histogram {tag!r}: none of {every.size} values is finite, nothing was written", stacklevel=2
            )
            return
        borders = _BINS if bins is None or (isinstance(bins, str) and bins == "tensorflow") else bins
        if np.ndim(borders) == 1 and not ((finite >= np.min(borders)) & (finite <= np.max(borders))).any():
            raise ValueError(
                f"histogram {tag!r}: none of {finite.size} values lies between {np.min(borders):g} and "
                f"{np.max(borders):g}, the borders that bins= gives"
            )
        # Of numbers whose squares are none the sum of squares is infinite.
        with np.errstate(over="ignore"):
            made = summary.histogram("", finite, borders, max_bins)
        self._add(tag, made, global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write a histogram that was counted elsewhere: right borders and counts of its bins, and what it sums up to.

        Raises ValueError where there are other numbers of borders than of counts.
        """
        limits, counts = array(bucket_limits).tolist(), array(bucket_counts).tolist()
        if len(limits) != len(counts):
            raise ValueError(
                f"histogram {tag!r}: {len(limits)} bucket_limits for {len(counts)} bucket_counts; each bin has the "
                "border on its right"
            )
        made = summary.histogram_raw("", min, max, num, sum, sum_squares, limits, counts)
        self._add(tag, made, global_step, walltime)

    def add_observer(self, tag: str, observer: Any, global_step: int | None = None) -> None:
        """Write what a quantization observer has seen: its histogram, where it counts one, its range, and its scale.

        `observer` has ``min_val``, ``max_val`` and ``calculate_qparams()``, and may have ``histogram`` over that range.
        Written are ``tag``, ``tag/minimum``, ``tag/maximum``, ``tag/scale`` and ``tag/zero_point``, of channels the
        extremes.
        """
        low, high = array(observer.min_val).astype(float), array(observer.max_val).astype(float)
        scale, zero_point = (array(one).astype(float) for one in observer.calculate_qparams())
        counted = getattr(observer, "histogram", None)
        if counted is not None and low.size == 1:
            counts = array(counted).astype(float)
            edges = np.linspace(float(low.reshape(())), float(high.reshape(())), counts.size + 1)
            middle = (edges[:-1] + edges[1:]) / 2
            self.add_histogram_raw(
                tag, edges[0], edges[-1], counts.sum(), float(counts @ middle), float(counts @ middle**2),
                edges[1:], counts, global_step,
            )  # fmt: skip
        for name, value in (
            ("minimum", low.min()), ("maximum", high.max()), ("scale", scale.max()), ("zero_point", zero_point.max()),
        ):  # fmt: skip
            self.add_scalar(f"{tag}/{name}", value, global_step)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write text, which TensorBoard shows as Markdown. Raises TypeError where it is no str."""
        self._add(tag, summary.text("", conversions.text(tag, text_string)), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write precision over recall for thresholds from 0 to 1: of `labels` (0, 1) and `predictions` in [0, 1].

        Raises ValueError where there are other numbers of one than of the other, labels are others, or predictions are
        no probabilities.
        """
        truth, sure, given = conversions.curve(tag, labels, predictions, weights)
        made = summary.pr_curve("", truth, sure, num_thresholds, given)
        self._add(tag, made, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write precision over recall that was counted elsewhere, a number for each threshold."""
        given = (
            true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall,
        )  # fmt: skip
        rows = [numbers(f"{tag!r}: a row", one).reshape(-1) for one in given]
        if {len(row) for row in rows} != {num_thresholds}:
            raise ValueError(
                f"{tag!r}: {sorted({len(row) for row in rows})} numbers for num_thresholds={num_thresholds}; each row "
                "has one for each threshold"
            )
        made = summary.pr_curve_raw("", *rows, num_thresholds, weights)
        self._add(tag, made, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Write a row of the table of hyperparameters, with the figures that came of them, as a run in a folder here.

        `hparam_domain_discrete` says which values there are. What is None is left out, as in PyTorch. Raises TypeError
        for a value that is no text, number or truth value.
        """
        told, figures = dictionary("hparam_dict", hparam_dict), dictionary("metric_dict", metric_dict)
        hparams = {
            name: conversions.setting(name, value) for name, value in told.items() if value is not None
        }
        metrics = {name: conversions.number(name, value) for name, value in figures.items()}
        step_of(global_step)
        experiment, start, end = summary.hparams(hparams, metrics)
        if hparam_domain_discrete:
            conversions.tell_domains(experiment, hparam_domain_discrete)
        with SummaryWriter(self.logdir / (run_name or str(time.time()))) as row:
            for made in (experiment, start, end):
                row.add_summary(made)
            for name, value in metrics.items():
                row.add_scalar(name, value, global_step)

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Say how TensorBoard's page of custom charts shows scalars: ``{category: {title: [kind, tags]}}``.

        `kind` is ``"Multiline"`` or ``"Margin"``, which takes three tags: value, lower, upper.
        """
        self.add_summary(summary.custom_scalars(charts(layout)))

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show several scalars in one custom chart."""
        self.add_custom_scalars({category: {title: ["Multiline", list(tags)]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show one scalar between two others in a custom chart: value, lower, upper."""
        self.add_custom_scalars({category: {title: ["Margin", list(tags)]}})

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Write points for the projector, [N, D] or an `Embedding`, with labels and pictures [N, C, H, W].

        `metadata` is a label for each point, or with `metadata_header` a row of as many columns. `tag` is any text.
        What is given beside an `Embedding` is added to what it has; raises ValueError where both have labels, pictures
        or a column of one name, else as `Embedding` and `projector.write` do.
        """
        step = step_of(global_step)
        name = tag if step is None else f"{tag}-{step:05d}"
        projector.write(conversions.embedding(mat, metadata, label_img, metadata_header), self.log_dir, name)

    def add_graph(
        self,
        model: Graph | Callable[..., Any],
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Write the graph of a model, traced with `input_to_model`: one input, or a tuple of several.

        A graph, and what has one (scripted, traced, opened from a file), is written as it is. `verbose` prints it;
        `use_strict_trace` makes no difference, since lists and dicts are traced as they are. Raises TypeError where
        there is nothing to trace the model with, and what tracing raises.
        """
        graph = graph_of(model, input_to_model)
        if verbose:
            print(graph)
        self._write(Event(graph_def=graph_def(graph).SerializeToString(), wall_time=time.time()))

    def add_onnx_graph(self, prototxt: str | os.PathLike[str] | bytes | BinaryIO) -> None:
        """Write the graph of an ONNX file, given by its path, its bytes or an open file; raises as `wb.onnx.load` does.

        `prototxt` is PyTorch's word for it.
        """
        self.add_graph(load(prototxt))
