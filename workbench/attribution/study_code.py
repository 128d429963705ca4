"""What a study shows, as Python that finds it again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workbench.attribution.asking import Ask
from workbench.attribution.method_settings import takes_layer
from workbench.attribution.methods import METHODS
from workbench.attribution.of_samples import by_sample
from workbench.attribution.wording import with_own, written

if TYPE_CHECKING:
    from workbench.attribution.study import Study

__all__ = ["code_of", "for_explain"]


def code_of(study: Study, asked: Ask) -> str:
    """Return the call of `explain` that answers a question; with another model beside, a dict of both answers."""
    model = "model" if len(study.models) == 1 else f"models[{asked.model!r}]"
    parts = [model if asked.other is None else "models[name]", _part("inputs", study.inputs, study, asked)]
    # The other model is asked about the classes of the first.
    if asked.target != "predicted" or asked.other is not None:
        parts.append(f"{study.targets_of(asked)!r}")
    parts.append(f"method={asked.method!r}")
    if asked.layer is not None and takes_layer(METHODS[asked.method]):
        parts.append(f"layer={asked.layer!r}")
    given = {
        **for_explain(asked.settings),
        "baselines": study.baselines_of(asked),
        "additional_forward_args": study.additional_forward_args,
    }
    parts += [
        f"{name}={_part(name, value, study, asked)}" for name, value in given.items() if value is not None
    ]
    call = f"wb.attribution.explain({', '.join(parts)})"
    code = call if asked.other is None else f"{{name: {call} for name in {[asked.model, asked.other]!r}}}"
    # The mean is written by the inputs.
    own = {name: value for name, value in given.items() if name != "baselines" or asked.baseline == "given"}
    return with_own(code, own)


def for_explain(settings: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return settings as `explain` takes them: what some methods call their method is a rule there.

    >>> for_explain([("method", "riemann_left"), ("n_steps", 20)])
    {'rule': 'riemann_left', 'n_steps': 20}
    """
    return {"rule" if name == "method" else name: value for name, value in settings}


def _part(name: str, value: Any, study: Study, asked: Ask) -> str:
    """Return Python for what is given to `explain`: of tensors with an entry for each sample those of the asked."""
    if name == "baselines" and asked.baseline == "mean":
        mean = "{}.mean(0, keepdim=True)"
        several = isinstance(study.inputs, tuple)
        return f"tuple({mean.format('one')} for one in inputs)" if several else mean.format("inputs")
    samples = list(asked.samples)
    which = f"[{samples[0]}:{samples[0] + 1}]" if len(samples) == 1 else f"[{samples!r}]"
    of_samples = [by_sample(one, study.samples) for one in (value if isinstance(value, tuple) else (value,))]
    if not any(of_samples):
        return written(name, value)
    if not isinstance(value, tuple):
        return f"{name}{which}"
    if all(of_samples):
        return f"tuple(one{which} for one in {name})"
    parts = [f"{name}[{at}]{which if one else ''}" for at, one in enumerate(of_samples)]
    return f"({', '.join(parts)},)"
