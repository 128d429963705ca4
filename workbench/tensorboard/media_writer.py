"""What of a TensorBoard log is seen and heard: pictures, figures, moving pictures, sounds, surfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from tensorboardX import summary

from workbench.tensorboard import conversions
from workbench.tensorboard.arguments import array, numbers, tag_of
from workbench.tensorboard.event_writer import EventWriter

__all__ = ["MediaWriter"]


class MediaWriter(EventWriter):
    """Writes pictures, figures, moving pictures, sounds and surfaces of tensors; a `SummaryWriter` is one."""

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str | None = None,
    ) -> None:
        """Write a picture, floats in [0, 1], bytes or truth values; several in a batch are tiled.

        Named dims say what is what, in any order: H and W, with C (1, 3, or 4) and N where there are. Without names,
        `dataformats` does: ``"CHW"`` (the default), ``"HW"``, ``"HWC"`` or ``"NCHW"``. Whole numbers of any type are
        bytes; what is out of range is cut off. Raises DimensionError where the dims are not those of a picture.
        """
        array, order = conversions.picture(tag, img_tensor, dataformats)
        self._add(tag, summary.image("", array, dataformats=order), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Write a batch of pictures as one, tiled; see `add_image`."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Write a picture with boxes on it, [boxes, 4] of left, top, right, bottom in pixels, called as `labels` say.

        Raises ValueError where boxes are no rows of four, or labels are not as many.
        """
        array, order = conversions.picture(tag, img_tensor, dataformats)
        boxes = numbers(f"{tag!r}: what boxes are made of", box_tensor)
        if boxes.ndim != 2 or boxes.shape[1] != 4 or (labels is not None and len(labels) != len(boxes)):
            raise ValueError(
                f"{tag!r}: boxes are rows of left, top, right, bottom, each with one label; got "
                f"{list(boxes.shape)} and {'no' if labels is None else len(labels)} labels"
            )
        made = summary.image_boxes("", array, boxes, rescale, order, None if labels is None else list(labels))
        self._add(tag, made, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Write what Matplotlib draws: a figure, or several beside each other; `close` them afterwards."""
        drawn, order = conversions.figures(tag, figure, close)
        self._add(tag, summary.image("", drawn, dataformats=order), global_step, walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
        dataformats: str = "NTCHW",
    ) -> None:
        """Write a moving picture, [N, T, C, H, W] of floats in [0, 1] or uint8. It takes the library ``moviepy``.

        Raises ModuleNotFoundError where that is not installed.
        """
        if find_spec("moviepy") is None:
            raise ModuleNotFoundError(
                "add_video packs pictures with moviepy, which is not installed: pip install moviepy"
            )
        self._add(tag, summary.video("", array(vid_tensor), fps, dataformats), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Write a sound: [samples], [samples, channels] or [1, samples], between -1 and 1; others are cut off.

        It takes the library ``soundfile``. Raises ModuleNotFoundError where that is not installed.
        """
        if find_spec("soundfile") is None:
            raise ModuleNotFoundError(
                "add_audio packs sounds with soundfile, which is not installed: pip install soundfile"
            )
        sound = np.clip(np.nan_to_num(numbers(f"sound {tag!r}", snd_tensor)), -1.0, 1.0)
        self._add(tag, summary.audio("", sound, sample_rate), global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write surfaces: [N, vertices, 3], with colours [N, vertices, 3] and faces [N, faces, 3].

        TensorBoard shows them; no view here does, so that a log read back counts them and says so (`Log.notes`).
        Raises DimensionError where the parts do not go together.
        """
        made = conversions.mesh(tag_of(tag), vertices, colors, faces, config_dict)
        self.add_summary(made, global_step, walltime)
