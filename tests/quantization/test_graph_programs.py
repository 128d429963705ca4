"""Reference forms, the numeric suite of graphs and dynamic layers in training, by what PyTorch answered."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.quantization import graph_programs
from workbench import nn
from workbench import quantization as q
from workbench.quantization import numeric_suite_fx as suite

RECORDED = json.loads(graph_programs.FILE.read_text())


def alike(found: Any, wanted: Any, word: str) -> None:
    """Assert that two answers are the same, numbers to what sums in another order differ by."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), word
        for key, one in wanted.items():
            alike(found[key], one, f"{word}: {key}")
    elif isinstance(wanted, list) and not any(isinstance(one, str) for one in wanted):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5, err_msg=word)
    elif isinstance(wanted, list):
        for mine, theirs in zip(found, wanted, strict=True):
            alike(mine, theirs, word)
    elif isinstance(wanted, float):
        # Of a layer by itself one code that falls on the other side of a half is some percent of the noise.
        assert found == pytest.approx(wanted, rel=0.1 if "shadows" in word else 2e-4, abs=2e-5), word
    else:
        assert found == wanted, word


@pytest.mark.parametrize("name", graph_programs.PROGRAMS)
def test_programs_answer_as_pytorchs(name: str) -> None:
    alike(graph_programs.PROGRAMS[name](wb), RECORDED[name], name)


def graphs() -> tuple[Any, Any, Any]:
    made, x = graph_programs.prepared(wb)
    return made, q.convert_fx(made), x


def test_graphs_side_by_side_change_nothing_of_the_models() -> None:
    made, integer, x = graphs()
    batches, codes = made.activation_post_process_0.batches, integer(x)
    plain = graph_programs.network(wb)
    for own in (made, plain):
        logged = suite.add_loggers("float", own, "codes", integer, suite.OutputLogger, should_log_inputs=True)
        for one in logged:
            one(x)
        found = suite.extract_logger_info(*logged, suite.OutputLogger, "codes")
        # A layer that is joined with its rectifier is compared behind that of the other.
        assert {"node_input", "node_output"} == found["conv1"].keys()
        suite.extend_logger_results_with_comparison(found, "float", "codes", suite.compute_sqnr, "sqnr")
        assert all(
            entry["sqnr"][0].item() > 20 for one in found.values() for entry in one["node_output"]["codes"]
        )
        shadows = suite.add_shadow_loggers("float", own, "codes", integer, suite.OutputLogger)
        assert wb.equal(shadows(x), codes)
    assert made.activation_post_process_0.batches == batches
    assert wb.equal(integer(x), codes) and not any(
        isinstance(one, suite.OutputLogger) for one in integer.modules()
    )


def test_loggers_are_switched_off_and_of_ones_own() -> None:
    made, integer, x = graphs()
    shadows = suite.add_shadow_loggers("float", made, "codes", integer, suite.OutputLogger)
    suite.loggers_set_save_activations(shadows, False)
    shadows(x)
    suite.loggers_set_enabled(shadows, False)
    suite.loggers_set_save_activations(shadows, True)
    shadows(x)
    assert not any(one.stats for one in shadows.modules() if isinstance(one, suite.OutputLogger))
    logger = suite.OutputComparisonLogger("a", "a", "codes", "a", "", "", "node_output", 0, 0, "a")
    logger(wb.tensor([3.0, 4.0]), wb.tensor([3.0, 3.5]))
    assert logger.found()["comparisons"][0].item() == pytest.approx(20.0)


def test_what_cannot_be_compared() -> None:
    made, integer, _ = graphs()
    other = q.prepare_fx(nn.Sequential(nn.Linear(3, 2)).eval(), graph_programs.mapping(wb), (wb.ones(1, 3),))
    with pytest.raises(wb.QuantizationError, match="have no node in common"):
        suite.extract_weights("a", other, "b", integer)
    with pytest.raises(
        wb.QuantizationError, match="conv1 of codes takes codes: the first model is the one in floating"
    ):
        suite.add_shadow_loggers("codes", integer, "float", made, suite.OutputLogger)
    logged = suite.add_loggers("float", made, "codes", integer, suite.OutputLogger)
    with pytest.raises(wb.QuantizationError, match="no model is called 'int8': there is 'codes' and 'float'"):
        suite.extract_logger_info(*logged, suite.OutputLogger, "int8")
    found = suite.extract_weights("float", made, "codes", integer)
    with pytest.raises(
        wb.QuantizationError, match="there is nothing of 'int8' for conv1: it has float, codes"
    ):
        suite.extend_logger_results_with_comparison(found, "float", "int8", suite.compute_sqnr, "sqnr")


def test_a_reference_form_is_the_integer_form_to_the_bit() -> None:
    made, integer, x = graphs()
    reference = q.convert_to_reference_fx(made)
    np.testing.assert_array_equal(reference(x).numpy(), integer(x).numpy())
    with pytest.raises(wb.QuantizationError, match="convert_fx takes what prepare_fx"):
        q.convert_to_reference_fx(reference)
    aware = q.prepare_qat_fx(
        graph_programs.network(wb).train(), q.get_default_qat_qconfig_mapping("onednn"), (x,)
    )
    aware(x)
    aware.eval()
    np.testing.assert_array_equal(q.convert_to_reference_fx(aware)(x).numpy(), q.convert_fx(aware)(x).numpy())


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "LSTMCell", "GRUCell", "RNNCell", "EmbeddingBag"])
def test_reference_layers_of_other_kinds(kind: str) -> None:
    wb.manual_seed(0)
    reference = wb.nn.quantized.reference
    sizes, x = (6, 4), wb.randn(5, 6)
    if kind == "EmbeddingBag":
        x = wb.tensor([[0, 3], [5, 1]])
    layer = getattr(nn, kind)(*sizes)
    known = {}
    for name, parameter in layer.named_parameters():
        if name.startswith("weight"):
            observer = q.default_per_channel_weight_observer()
            observer(parameter.detach())
            known[name] = reference.weights.weight_qparams(observer)
    given = known["weight"] if kind == "EmbeddingBag" else known
    made = getattr(reference, kind).from_float(layer, given)
    exact, found = layer(x), made(x)
    exact, found = (one[0] if isinstance(one, tuple) else one for one in (exact, found))
    assert 30 < q.sqnr(exact.detach(), found.detach()) < 90
    again = getattr(reference, kind).from_float(getattr(nn, kind)(*sizes), given)
    again.load_state_dict(made.state_dict())
    other = again(x)
    np.testing.assert_array_equal(found.detach(), (other[0] if isinstance(other, tuple) else other).detach())


def test_what_is_dynamic_in_training() -> None:
    kind = wb.nn.qat.dynamic.Linear
    with pytest.raises(wb.QuantizationError, match="Dynamic QAT requires a memoryless observer"):
        kind(3, 2, qconfig=q.default_qat_qconfig)
