"""What a study shows, as Python that finds it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.attribution.asking import Ask
from workbench.attribution.blurring import spatial_dims
from workbench.attribution.methods import METHODS
from workbench.attribution.of_samples import by_sample
from workbench.attribution.study_answers import for_explain, targets_of
from workbench.attribution.wording import with_own, written

if TYPE_CHECKING:
    from workbench.attribution.study import Study

__all__ = ["code_of"]


def code_of(study: Study, asked: Ask) -> str:
    """Return the call of `explain` that answers a question; with another model beside, a dict of both answers."""
    named = "models[name]" if asked.other is not None else f"models[{asked.model!r}]"
    model = "model" if len(study.models) == 1 else named
    parts = [model, _part("inputs", study.inputs, study, asked)]
    # The other model is asked about the classes of the first.
    if asked.target != "predicted" or asked.other is not None:
        parts.append(f"{targets_of(study, asked)!r}")
    method = study.methods[asked.method]
    parts.append(f"method={_method(study, asked, model)}")
    if asked.layer is not None and method.layer:
        parts.append(f"layer={asked.layer!r}")
    given = {name: value for name, value in for_explain(asked.settings).items() if value is not None}
    parts += [f"{name}={_part(name, value, study, asked)}" for name, value in given.items()]
    own = given if asked.method in METHODS else {"method": method.ready or method.kind, **given}
    if asked.baseline != "zeros" and method.takes("baselines"):
        parts.append(f"baselines={_baselines(study, asked)}")
        own |= {"baselines": study.baselines} if asked.baseline == "given" else {}
    extra = study.additional_forward_args
    if extra is not None:
        parts.append(f"additional_forward_args={_part('additional_forward_args', extra, study, asked)}")
        own["additional_forward_args"] = extra
    call = f"wb.attribution.explain({', '.join(parts)})"
    code = call if asked.other is None else f"{{name: {call} for name in {[asked.model, asked.other]!r}}}"
    return with_own(code, own)


def _method(study: Study, asked: Ask, model: str) -> str:
    """Return Python for the method: its name, or a variable; made ready for one of several models, of the asked one."""
    if asked.method in METHODS:
        return repr(asked.method)
    ready = study.methods[asked.method].ready
    of_models = ready is not None and ready.forward_func in study.models.values()
    return f"method.on({model})" if of_models and len(study.models) > 1 else "method"


def _part(name: str, value: Any, study: Study, asked: Ask) -> str:
    """Return Python for what is given to `explain`: of tensors with an entry for each sample those of the asked."""
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


def _baselines(study: Study, asked: Ask) -> str:
    """Return Python for from where a method starts that does not start from zeros."""
    if asked.baseline == "given":
        return _part("baselines", study.baselines, study, asked)
    several = isinstance(study.inputs, tuple)
    if asked.baseline == "mean":
        mean = "{}.mean(0, keepdim=True)"
        return f"tuple({mean.format('one')} for one in inputs)" if several else mean.format("inputs")
    if not several:
        return f"wb.attribution.blurred({_part('inputs', study.inputs, study, asked)}, {asked.blur_width!r})"
    parts = [
        "0"
        if spatial_dims(one) is None
        else f"wb.attribution.blurred({_part(f'inputs[{at}]', one, study, asked)}, {asked.blur_width!r})"
        for at, one in enumerate(study.inputs)
    ]
    return f"({', '.join(parts)},)"
