"""The table of operators beside the format's own: no operator and no attribute of versions 7 to 22 is forgotten."""

from __future__ import annotations

import inspect

import pytest

from tests.peers.onnx_db.declared import PICTURES, WORDS
from workbench.onnx.control import WRITERS
from workbench.onnx.table import find

onnx = pytest.importorskip("onnx")

TEXT = "text is none of the data types here"
MISSING = {
    "ImageDecoder": PICTURES,
    "RegexFullMatch": TEXT,
    "StringConcat": TEXT,
    "StringNormalizer": TEXT,
    "StringSplit": TEXT,
    "TfIdfVectorizer": WORDS,
}
"""Operators of these versions that are not there, each with its reason."""

LEFT_OUT = {("Clip", "max"), ("Clip", "min"), ("MeanVarianceNormalization", "axes"), ("RNN", "activations")}
"""Attributes that are None where a file has none of them: the function says what that means."""


def _schema(name: str, version: int):
    try:
        return onnx.defs.get_schema(name, version, "")
    except onnx.defs.SchemaError:
        return None


@pytest.mark.parametrize("version", range(7, 23))
def test_every_operator_of_a_version_is_there(version):
    wrong = []
    for name in sorted({one.name for one in onnx.defs.get_all_schemas_with_history() if one.domain == ""}):
        schema = _schema(name, version)
        # Control flow and constants are no calls.
        if schema is None or schema.deprecated or name in WRITERS or name == "Constant":
            continue
        known = find(name, "", version)
        if (known is None) != (name in MISSING):
            wrong.append(f"{name} is {'not there' if known is None else 'there, and declared missing'}")
        if known is None:
            continue
        parameters = known.parameters.values()
        keywords = {one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}
        inputs = [one for one in parameters if one.kind is not inspect.Parameter.KEYWORD_ONLY]
        endless = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in inputs)
        lacking = set(schema.attributes) - keywords
        if lacking:
            wrong.append(f"{name} of {schema.since_version} lacks {sorted(lacking)}")
        if not endless and len(inputs) < schema.max_input:
            wrong.append(
                f"{name} of {schema.since_version} takes {schema.max_input} inputs, ours {len(inputs)}"
            )
        if schema.max_output > 1 and not known.counts:
            wrong.append(f"{name} of {schema.since_version} has several outputs, and ours one")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("version", [7, 13, 22])
def test_defaults_are_those_of_the_format(version):
    wrong = []
    for name in sorted({one.name for one in onnx.defs.get_all_schemas_with_history() if one.domain == ""}):
        schema, known = _schema(name, version), find(name, "", version)
        if schema is None or known is None or schema.deprecated:
            continue
        for key, attribute in schema.attributes.items():
            own = known.parameters[key].default
            if attribute.required:
                if own is not inspect.Parameter.empty:
                    wrong.append(f"{name}.{key} must be given")
            elif attribute.default_value.type:
                wanted = onnx.helper.get_attribute_value(attribute.default_value)
                wanted = wanted.decode() if isinstance(wanted, bytes) else wanted
                close = (
                    isinstance(wanted, float) and own is not None and abs(own - wanted) <= 1e-6 * abs(wanted)
                )
                if not close and own != wanted and (name, key) not in LEFT_OUT:
                    wrong.append(f"{name}.{key} is {wanted!r} by default, ours {own!r}")
    assert not wrong, "\n".join(wrong)
