"""Methods of attribution asked about text that a model writes: Captum's LLMAttribution and LLMGradientAttribution."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from workbench.attribution.base import Attribution
from workbench.attribution.checks import check_count
from workbench.attribution.generation.inputs import InterpretableInput, TextTokenInput
from workbench.attribution.generation.result import LLMAttributionResult
from workbench.attribution.generation.tokens import number_of, numbers_of, shown, tokens_of
from workbench.attribution.modes import evaluating
from workbench.attribution.perturbation.lime_base import LimeBase
from workbench.base.errors import DimensionError
from workbench.base.foreign import told
from workbench.core.dispatch import no_grad
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["LLMAttribution", "LLMGradientAttribution"]

Array = np.ndarray[Any, Any]

MOST_TOKENS = 25
"""How many tokens are written where nothing is said."""


class _Writing:
    """A model that writes, and its tokenizer."""

    def __init__(self, attr_method: Attribution, tokenizer: Any) -> None:
        if not isinstance(attr_method, Attribution):
            raise TypeError(
                f"{type(self).__name__} takes a method with its model, such as FeatureAblation(model), got "
                f"{type(attr_method).__name__}"
            )
        self.model = attr_method.forward_func
        self.tokenizer = tokenizer
        # Its forward function is another from now on.
        self.attr_method = copy(attr_method)

    def _numbers(self, given: Any) -> list[list[int]]:
        """Return the numbers of tokens of each row that goes into the model: a text, or numbers [N, T]."""
        if isinstance(given, str):
            return [numbers_of(self.tokenizer, given)]
        if not isinstance(given, Tensor | np.ndarray) or given.ndim != 2:
            shape = f"shape {list(given.shape)}" if isinstance(given, Tensor | np.ndarray) else told(given)
            raise TypeError(
                f"{type(self).__name__}: a prompt becomes a text or numbers of tokens [N, T], this one became {shape}"
            )
        return [[int(one) for one in row] for row in given.tolist()]

    def _targets(
        self, inp: InterpretableInput, target: Any, skip_tokens: Any, gen_args: dict[str, Any] | None
    ) -> list[int]:
        """Return the numbers of the tokens that are explained: those given, or those that the model writes."""
        if not isinstance(inp, InterpretableInput):
            raise TypeError(
                f"inp is a prompt with its features, TextTokenInput(text, tokenizer) or TextTemplateInput(template, "
                f"values), got {type(inp).__name__}"
            )
        if target is None:
            written = self._written(self._numbers(inp.to_model_input())[0], gen_args)
            if not written:
                raise ValueError("there is nothing to explain: the model wrote no token after the prompt")
            return written
        if gen_args is not None:
            raise ValueError("gen_args say how a text is written, and target= is one: give either")
        if isinstance(target, str):
            numbers = numbers_of(self.tokenizer, target, special=False)
        elif isinstance(target, Tensor | np.ndarray | list | tuple):
            numbers = [int(one) for one in np.asarray(target).ravel()]
            # A score counted from the end would be that of another token.
            if any(one < 0 for one in numbers):
                raise ValueError(f"numbers of tokens are 0 or more, the target has {min(numbers)}")
        else:
            raise TypeError(f"target is a text or numbers of tokens, got {type(target).__name__}")
        skipped = {number_of(self.tokenizer, one) for one in skip_tokens or ()}
        found = [one for one in numbers if one not in skipped]
        if not found:
            raise ValueError("there is nothing to explain: the target has no tokens, or all are skipped")
        return found

    def _written(self, prompt: list[int], gen_args: dict[str, Any] | None) -> list[int]:
        """Return what the model writes after a prompt: by its own ``generate``, else always the likeliest token."""
        given = gen_args or {"max_new_tokens": MOST_TOKENS}
        if callable(generate := getattr(self.model, "generate", None)):
            with evaluating(self.model), no_grad():
                return [int(one) for one in generate(new(np.array([prompt])), **given)[0].tolist()][
                    len(prompt) :
                ]
        unknown = [name for name in given if name != "max_new_tokens"]
        if unknown:
            raise ValueError(
                f"the model has no generate(), without which gen_args are max_new_tokens alone, not {unknown[0]!r}"
            )
        tokens = list(prompt)
        with evaluating(self.model), no_grad():
            for _ in range(given["max_new_tokens"]):
                tokens.append(int(self._next(np.array([tokens])).argmax(-1).item()))
        return tokens[len(prompt) :]

    def _next(self, numbers: Array) -> Tensor:
        """Return the scores of the token after each row [N, T], [N, token]."""
        return self._every(numbers)[:, -1]

    def _every(self, numbers: Array) -> Tensor:
        """Return the scores of the token after each of rows [N, T], [N, T, token]."""
        found = self.model(new(np.ascontiguousarray(numbers)))
        scores = getattr(found, "logits", found)
        if not isinstance(scores, Tensor) or scores.ndim != 3:
            kind = f"shape {list(scores.shape)}" if isinstance(scores, Tensor) else type(scores).__name__
            raise DimensionError(
                "a model that writes returns scores [N, T, token] for numbers of tokens [N, T], or something with such "
                f"as .logits; this one returned {kind}. Wrap it in a function that does",
                op=type(self).__name__,
            )
        return scores.rename(None)

    def _result(
        self, inp: InterpretableInput, targets: list[int], whole: Array, each: Any
    ) -> LLMAttributionResult:
        tokens = shown(tokens_of(self.tokenizer, targets))
        return LLMAttributionResult(
            input_tokens=inp.values,
            output_tokens=tokens,
            seq_attr=new(whole),
            token_attr=None if each is None else new(each),
        )


class LLMAttribution(_Writing):
    """Which features of a prompt caused each token that a model wrote, by leaving features out.

    `attr_method` is a method that perturbs inputs, with the model, which takes numbers of tokens [N, T] and returns
    scores [N, T, token], or something with such as ``logits``. What is explained is the logarithm of the probability of
    each token (``attr_target="prob"``: the probability), given those before it. Methods that fit a model of the
    features (Lime, KernelSHAP) explain the whole text only.

    Raises:
        TypeError: `attr_method` is no method.
        ValueError: an unknown `attr_target`.
    """

    def __init__(self, attr_method: Attribution, tokenizer: Any, attr_target: str = "log_prob") -> None:
        super().__init__(attr_method, tokenizer)
        if attr_target not in ("log_prob", "prob"):
            raise ValueError(f"attr_target is 'log_prob' or 'prob', got {attr_target!r}")
        self.attr_target = attr_target
        self.include_per_token_attr = not isinstance(attr_method, LimeBase)

    def attribute(
        self,
        inp: InterpretableInput,
        target: Any = None,
        num_trials: int = 1,
        gen_args: dict[str, Any] | None = None,
        use_cached_outputs: bool = True,
        forward_in_tokens: bool = True,
        *,
        skip_tokens: Sequence[int | str] | None = None,
        **kwargs: Any,
    ) -> LLMAttributionResult:
        """Return the attributions of `target`, a text or numbers of tokens; without it of what the model writes.

        Tokens in `skip_tokens` are taken out of the target. `gen_args` go to the model's ``generate``; a model without
        writes ``max_new_tokens`` of the likeliest ones. Attributions are averaged over `num_trials`, `kwargs` go to the
        method. With `use_cached_outputs` the same features are asked once only. Without `forward_in_tokens` the whole
        text goes through the model at once, which is the same, and faster, where no token looks at those after it.

        Raises:
            TypeError: `inp` is no prompt with features, or the target neither text nor numbers.
            ValueError: there is nothing to explain, or arguments contradict each other.
            DimensionError: the model returns no scores of tokens.
        """
        targets = self._targets(inp, target, skip_tokens, gen_args)
        check_count(type(self).__name__, "num_trials", num_trials)
        known: dict[bytes, Array] | None = {} if use_cached_outputs else None
        # The model is named, so that it is found and put into evaluation mode.
        self.attr_method.forward_func = functools.partial(
            self._scores, self.model, inp, targets, known, forward_in_tokens
        )
        rows = 1 + len(targets) if self.include_per_token_attr else 1
        found: Array = np.zeros((rows, inp.n_itp_features))
        for _ in range(num_trials):
            attributed = self.attr_method.attribute(inp.to_tensor(), **kwargs)
            found += attributed.numpy(force=True).reshape(found.shape) / num_trials
        formatted = inp.format_attr(new(found)).numpy()
        return self._result(
            inp, targets, formatted[0], formatted[1:] if self.include_per_token_attr else None
        )

    def _scores(
        self,
        model: Callable[..., Any],
        inp: InterpretableInput,
        targets: list[int],
        known: dict[bytes, Array] | None,
        stepwise: bool,
        features: Tensor,
    ) -> Tensor:
        """Return the scores of rows of features [N, features], [N, 1 + tokens] or [N]; `known` are those of before."""
        rows = np.ascontiguousarray(features.numpy(force=True))
        asked = {} if known is None else known
        missing = {row.tobytes(): row for row in rows if row.tobytes() not in asked}
        if missing:
            prompts = [self._numbers(inp.to_model_input(new(row[None])))[0] for row in missing.values()]
            asked.update(zip(missing, self._log_probabilities(prompts, targets, stepwise), strict=True))
        each = np.stack([asked[row.tobytes()] for row in rows])
        every = np.concatenate([each.sum(1, keepdims=True), each], axis=1)
        every = every if self.attr_target == "log_prob" else np.exp(every)
        return new(every if self.include_per_token_attr else every[:, 0])

    def _log_probabilities(self, prompts: list[list[int]], targets: list[int], stepwise: bool) -> list[Array]:
        """Return for each prompt the logarithms of the targets' probabilities, float64 [tokens]."""
        found: list[Array] = [np.zeros(0)] * len(prompts)
        with no_grad():
            # Prompts of one length go through the model together.
            for length in {len(one) for one in prompts}:
                chosen = [place for place, one in enumerate(prompts) if len(one) == length]
                written = np.repeat([targets], len(chosen), axis=0)
                numbers = np.concatenate([np.array([prompts[place] for place in chosen]), written], axis=1)
                if stepwise:
                    steps = [self._next(numbers[:, : length + step]) for step in range(len(targets))]
                else:
                    every = self._every(numbers[:, :-1])
                    steps = [every[:, length - 1 + step] for step in range(len(targets))]
                pairs = zip(steps, targets, strict=True)
                columns = [one.double().log_softmax(-1)[:, token].numpy() for one, token in pairs]
                for place, row in zip(chosen, np.stack(columns, axis=1), strict=True):
                    found[place] = row
        return found


class LLMGradientAttribution(_Writing):
    """Which tokens of a prompt caused each token that a model wrote, by gradients at what they are embedded as.

    `attr_method` is a method for a layer, with the model and its embedding, such as
    ``LayerIntegratedGradients(model, "embedding")``. What is explained is the logarithm of each token's probability,
    given those before it; a token's attributions are summed over the features of its embedding.

    Raises:
        TypeError: `attr_method` is no method.
    """

    def attribute(
        self,
        inp: TextTokenInput,
        target: Any = None,
        gen_args: dict[str, Any] | None = None,
        *,
        skip_tokens: Sequence[int | str] | None = None,
        **kwargs: Any,
    ) -> LLMAttributionResult:
        """Return the attributions of `target`, or of what the model writes, as `LLMAttribution.attribute` does.

        Raises:
            TypeError: the input is no `TextTokenInput`, which gradients need, or the target neither text nor numbers.
            ValueError: there is nothing to explain, or arguments contradict each other.
            DimensionError: the model returns no scores of tokens.
        """
        if not isinstance(inp, TextTokenInput):
            raise TypeError(
                f"gradients are taken at tokens, which a {type(inp).__name__} has not: give a TextTokenInput"
            )
        targets = self._targets(inp, target, skip_tokens, gen_args)
        rows = []
        for place, token in enumerate(targets):
            self.attr_method.forward_func = functools.partial(self._score, self.model, targets[:place], token)
            found = self.attr_method.attribute(inp.to_model_input(), **kwargs)
            values = found.numpy(force=True)[0].sum(-1)
            # Tokens written before are part of the text, and no features of the prompt.
            rows.append(values[: inp.inp_tensor.shape[1]][inp.places])
        each = np.stack(rows)
        return self._result(inp, targets, each.sum(0), each)

    def _score(self, model: Callable[..., Any], before: list[int], token: int, numbers: Tensor) -> Tensor:
        """Return the logarithm of a token's probability [N] after a prompt [N, T] and what was written `before`."""
        rows = numbers.numpy(force=True)
        written = np.broadcast_to(np.array(before, rows.dtype), (len(rows), len(before)))
        return self._next(np.concatenate([rows, written], axis=1)).log_softmax(-1)[:, token]
