"""Occlusion: what the output loses when a window of the input is covered."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question
from workbench.attribution.base import Answer, PerturbationAttribution
from workbench.attribution.perturbation.ablation import answer_of, one_a_number
from workbench.attribution.perturbation.asking import ask_any
from workbench.attribution.perturbation.trials import Trials
from workbench.attribution.perturbation.windows import usual_windows, windows_of

__all__ = ["Occlusion"]


class Occlusion(PerturbationAttribution):
    r"""What the output loses on average when a window that covers a value is replaced by its baseline.

    .. math:: A_i = \frac{1}{|\{w \ni i\}|} \sum_{w \ni i} F(x) - F(x_{w \leftarrow b})

    Source: Zeiler, Fergus: Visualizing and Understanding Convolutional Networks (2014).

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, 2.0, 3.0]], names=("N", "T"))
    >>> Occlusion(lambda x: x.sum(1)).attribute(x, (2,)).tolist()
    [[3.0, 4.0, 5.0]]
    """

    name = "Occlusion"

    def attribute(
        self,
        inputs: Any,
        sliding_window_shapes: Any,
        strides: Any = None,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the attributions, float32 or float64, of the inputs' shape and names.

        `sliding_window_shapes` is the size of the window along each dim of a sample, such as ``(3, 5, 5)`` of images
        [N, C, H, W]; of several inputs one tuple each. Windows are `strides` apart, 1 without it: a number for all
        dims, or one a dim. Both may be dicts by names, ``{"H": 5, "W": 5}``: a window then covers each dim that
        is not named. The last window along a dim is cut where it does not come out even.

        Targets, models with several numbers or one output of a batch, `perturbations_per_eval` and `memory` are those
        of `FeatureAblation.attribute`.

        Raises as `windows_of` and `Trials` do, and as all methods do for inputs, baselines and targets.
        """
        question = ask_any(type(self).__name__, inputs, baselines, target, additional_forward_args)
        answer = self.answer(
            question,
            sliding_window_shapes=sliding_window_shapes,
            strides=strides,
            perturbations_per_eval=perturbations_per_eval,
            show_progress=show_progress,
            memory=memory,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        sliding_window_shapes: Any = None,
        strides: Any = None,
        perturbations_per_eval: int = 1,
        show_progress: bool = False,
        memory: int | str | None = None,
    ) -> Answer:
        if sliding_window_shapes is None:
            # `explain` asks without a window.
            sliding_window_shapes, strides = usual_windows(question)
        windows = windows_of(question, sliding_window_shapes, strides)
        evaluation = self.evaluation(question, memory, None, show_progress)
        trials = Trials(self.forward, evaluation, perturbations_per_eval)
        before = trials.at_inputs()
        after = trials.outputs(windows.count, windows.without)
        lost = (before - after).reshape(windows.count, -1)
        kind = np.float64 if trials.dtype == np.float64 else np.float32
        found = [one.astype(kind) for one in windows.averaged(lost)]
        return answer_of(trials, one_a_number(question, found))
