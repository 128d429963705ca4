"""TensorBoard's logs in PyTorch's words: tensorboardX writes them, of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorboardX
from tensorboardX import FileWriter, RecordWriter

from workbench.base.public import words
from workbench.core.dispatch import numbers
from workbench.export.graph_def import graph_def, graph_of
from workbench.graph import Graph
from workbench.tensor import Tensor
from workbench.utils._pytree import tree_map_only

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]


class SummaryWriter(tensorboardX.SummaryWriter):  # type: ignore[misc]
    """Writes scalars, histograms, pictures, texts, graphs and points to `log_dir`, ``runs/<date>_<machine>`` by itself.

    `workbench.export.tensorboard.SummaryWriter` is a smaller one, which writes at once, in the caller's thread.

    >>> import tempfile, workbench as wb
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     writer.add_scalar("loss", wb.tensor(0.5), 1)
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        super().__init__(
            logdir=None if log_dir is None else str(log_dir),
            comment=comment,
            purge_step=purge_step,
            max_queue=max_queue,
            flush_secs=flush_secs,
            filename_suffix=filename_suffix,
        )

    @property
    def log_dir(self) -> str:
        """The folder that is written to."""
        return str(self.logdir)

    def add_graph(
        self,
        model: Graph | Callable[..., Any],
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Write the graph of a model, traced with `input_to_model`: one input, or a tuple of several."""
        graph = graph_of(model, input_to_model)
        if verbose:
            print(graph)
        # By tensorboardX's word for a graph without times: it asks nothing about ONNX.
        self._get_file_writer().add_onnx_graph(graph_def(graph))


def _of_tensors(name: str) -> Any:
    """Return a method that has tensors among its arguments, and hands their numbers on."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map_only(Tensor, _numbers, (args, kwargs))
        return getattr(tensorboardX.SummaryWriter, name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = getattr(tensorboardX.SummaryWriter, name).__doc__
    return method


def _numbers(tensor: Tensor) -> Any:
    # Not `numpy()`, which gives the memory into other hands for good: what is written is only read.
    return numbers(tensor.detach().cpu())


for _name in (
    "add_audio", "add_embedding", "add_figure", "add_histogram", "add_hparams", "add_image", "add_image_with_boxes",
    "add_images", "add_mesh", "add_pr_curve", "add_scalar", "add_scalars", "add_text", "add_video",
):  # fmt: skip
    setattr(SummaryWriter, _name, _of_tensors(_name))

__getattr__, __dir__ = words(__name__, __all__)
