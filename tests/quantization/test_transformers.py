"""Transformers on codes: as graphs and layer by layer, with masks, sizes and names that calibration did not see."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.nn import functional as F
from workbench.quantization import quantizable, quantized
from workbench.quantization.quantizable.separate_attention import SeparateAttention, separate

ONEDNN = q.get_default_qconfig_mapping("onednn")
CONFIG = q.get_default_qconfig("onednn")
INNER = ("linear_Q", "linear_K", "linear_V", "out_proj")


def encoder(layers: int = 2, norm: Any = None, **settings: Any) -> Any:
    wb.manual_seed(0)
    return nn.TransformerEncoder(
        nn.TransformerEncoderLayer(32, 4, 64, **{"batch_first": True, **settings}), layers, norm
    ).eval()


def graph(model: Any, *inputs: Any, mapping: Any = ONEDNN, others: Sequence[Any] = (), **masks: Any) -> Any:
    prepared = q.prepare_fx(model, mapping, inputs)
    with wb.no_grad():
        prepared(*inputs, **masks)
        for one in others:
            prepared(one)
    return q.convert_fx(prepared)


def by_layers(model: Any, *inputs: Any, config: Any = CONFIG) -> Any:
    prepared = q.prepare(model, config)
    with wb.no_grad():
        prepared(*inputs)
    return q.convert(prepared)


def ratio(model: Any, integer: Any, *inputs: Any, **masks: Any) -> float:
    with wb.no_grad():
        wanted, found = model(*inputs, **masks), integer(*inputs, **masks)
    assert wanted.shape == found.shape
    return float(q.sqnr(wanted, found))


def integer_layers(model: Any) -> list[str]:
    return [name for name, one in model.named_modules() if isinstance(one, quantized.Linear)]


def float_layers(model: Any) -> list[str]:
    return [name for name, one in model.named_modules() if isinstance(one, nn.Linear)]


# ---------------------------------------------------------------------------------------------- graphs


@pytest.mark.parametrize(
    ("batch_first", "norm_first", "activation"),
    [*itertools.product((True, False), (True, False), ("relu", "gelu")), (True, False, F.silu)],
)
def test_an_encoder_becomes_codes_as_its_graph_of_ops_does(
    batch_first: bool, norm_first: bool, activation: Any
) -> None:
    model = encoder(batch_first=batch_first, norm_first=norm_first, activation=activation)
    x = wb.randn(16, 10, 32)
    # Other sizes than those that were traced; without a batch.
    others = [wb.randn(3, 7, 32), wb.randn(1, 1, 32), wb.randn(7, 32)]
    integer = graph(model, x, others=others)
    assert len(integer_layers(integer)) == 12 and not float_layers(integer)
    judge = graph(wb.jit.trace(model, x), x, others=others[:2])
    found = ratio(model, integer, x)
    assert found > 28 and abs(found - ratio(model, judge, x)) < 2
    for one in others:
        assert ratio(model, integer, one) > 28


def test_masks_are_those_of_the_call() -> None:
    model, x = encoder(), wb.randn(16, 10, 32)
    causal = nn.Transformer.generate_square_subsequent_mask(10)
    padding = wb.zeros(16, 10).bool()
    padding[:, 7:] = True
    prepared = q.prepare_fx(model, ONEDNN, (x,))
    cases: list[dict[str, Any]] = [
        {},
        {"mask": causal},
        {"mask": causal, "is_causal": True},
        {"mask": causal < 0},
        {"src_key_padding_mask": padding},
        {"src_key_padding_mask": wb.where(padding, -1e9, 0.0)},
        {"mask": causal, "src_key_padding_mask": wb.where(padding, float("-inf"), 0.0)},
    ]
    with wb.no_grad():
        for case in cases:
            np.testing.assert_allclose(prepared(x, **case).numpy(), model(x, **case).numpy(), atol=1e-5)
    integer = q.convert_fx(prepared)
    found = {str(sorted(case)): ratio(model, integer, x, **case) for case in cases}
    assert min(found.values()) > 29, found
    # What is masked is not seen.
    other = x.clone()
    other[:, 7:] = 3.0
    with wb.no_grad():
        seen = [integer(one, src_key_padding_mask=padding).numpy()[:, :7] for one in (x, other)]
    np.testing.assert_array_equal(*seen)
    for one in (model, integer):
        with pytest.raises(wb.DimensionError, match="Need attn_mask if specifying the is_causal hint"):
            one(x, is_causal=True)
        with pytest.raises(wb.DimensionError, match="The shape of the 2D attn_mask is"):
            one(x, mask=causal[:4, :4])


@pytest.mark.parametrize(
    "settings", [{}, {"kdim": 16, "vdim": 24}, {"add_bias_kv": True, "add_zero_attn": True}, {"bias": False}]
)
@pytest.mark.parametrize("batch_first", [True, False])
def test_attention_gives_the_weights_that_are_asked_for(settings: Any, batch_first: bool) -> None:
    wb.manual_seed(0)
    model = nn.MultiheadAttention(32, 4, batch_first=batch_first, **settings).eval()
    given = [wb.randn(6, size, wide) for size, wide in ((6, 32), (9, model.kdim), (9, model.vdim))]
    inputs = tuple(given) if batch_first else tuple(one.transpose(0, 1) for one in given)
    integer = graph(model, *inputs)
    assert integer_layers(integer) == [*INNER]
    for asked in ({}, {"average_attn_weights": False}, {"need_weights": False}):
        wanted, found = model(*inputs, **asked), integer(*inputs, **asked)
        assert q.sqnr(wanted[0], found[0]) > 28
        assert (wanted[1] is None) == (found[1] is None) == ("need_weights" in asked)
        if wanted[1] is not None:
            assert wanted[1].shape == found[1].shape and q.sqnr(wanted[1], found[1]) > 32


class Net(nn.Module):
    """A small transformer as people write it."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 32)
        self.places = nn.Parameter(wb.randn(1, 12, 32) * 0.1)
        self.encoder = encoder(norm=nn.LayerNorm(32))
        self.head = nn.Linear(32, 5)

    def forward(self, words: Any, padding: Any = None) -> Any:
        x = self.words(words) + self.places[:, : words.size(1)]
        return self.head(self.encoder(x, src_key_padding_mask=padding).mean(1))


@pytest.fixture
def net() -> Any:
    wb.manual_seed(0)
    return Net().eval()


@pytest.fixture
def words() -> Any:
    wb.manual_seed(1)
    return wb.randint(0, 50, (16, 12))


def test_a_transformer_inside_a_model(net: Any, words: Any) -> None:
    before = {name: one.numpy().copy() for name, one in net.state_dict().items()}
    integer = graph(net, words)
    assert len(integer_layers(integer)) == 13 and not float_layers(integer)
    padding = words % 3 == 0
    padding[:, 0] = False
    assert ratio(net, integer, words) > 28
    assert ratio(net, integer, words, padding) > 22
    assert ratio(net, integer, words[:3, :5]) > 20
    # The model stays as it was.
    assert type(net.encoder.layers[0].self_attn) is nn.MultiheadAttention
    for name, one in net.state_dict().items():
        np.testing.assert_array_equal(one.numpy(), before.pop(name))
    assert not before
    again = graph(Net().eval(), words)
    again.load_state_dict(integer.state_dict())
    np.testing.assert_array_equal(again(words).numpy(), integer(words).numpy())


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda one: one.set_module_name("encoder.layers.0.linear1", None), ["encoder.layers.0.linear1.0"]),
        (
            lambda one: one.set_module_name("encoder.layers.1.self_attn.out_proj", None),
            ["encoder.layers.1.self_attn.out_proj"],
        ),
        (
            lambda one: one.set_module_name("encoder.layers.1.self_attn.linear_Q", None),
            ["encoder.layers.1.self_attn.linear_Q"],
        ),
        (
            lambda one: one.set_module_name("encoder.layers.1.self_attn", None),
            [f"encoder.layers.1.self_attn.{name}" for name in INNER],
        ),
        (
            lambda one: one.set_module_name_regex(r".*self_attn\.linear", None),
            [f"encoder.layers.{k}.self_attn.{name}" for k in (0, 1) for name in INNER[:3]],
        ),
        (
            lambda one: one.set_object_type(nn.MultiheadAttention, None),
            [f"encoder.layers.{k}.self_attn.{name}" for k in (0, 1) for name in INNER],
        ),
    ],
)
def test_a_mapping_names_the_parts(net: Any, words: Any, change: Any, left: list[str]) -> None:
    integer = graph(net, words, mapping=change(copy.deepcopy(ONEDNN)))
    assert sorted(float_layers(integer)) == sorted(left)
    assert ratio(net, integer, words) > 28


def test_a_kind_of_layer_is_left_with_all_in_it(net: Any, words: Any) -> None:
    mapping = copy.deepcopy(ONEDNN).set_object_type(nn.TransformerEncoderLayer, None)
    prepared = q.prepare_fx(net, mapping, (words,))
    inside = [node for node in prepared.graph.nodes if str(node.target).startswith("encoder.layers")]
    assert len(inside) > 20 and all(node.meta["qconfig"] is None for node in inside)
    # And one is quantized with all in it: what is said of a part by its own kind counts for more.
    mapping = q.QConfigMapping().set_object_type(nn.TransformerEncoder, CONFIG)
    integer = graph(net, words, mapping=mapping)
    assert float_layers(integer) == ["head"]
    integer = graph(net, words, mapping=mapping.set_object_type(nn.Linear, None))
    assert not integer_layers(integer)


def test_a_module_that_is_called_whole_stays_whole(net: Any, words: Any) -> None:
    custom = q.custom_config.PrepareCustomConfig().set_non_traceable_module_names(["encoder"])
    prepared = q.prepare_fx(net, ONEDNN, (words,), custom)
    assert type(prepared.encoder.layers[0].self_attn) is nn.MultiheadAttention
    with pytest.raises(
        wb.QuantizationError, match=r"a qconfig for 'encoder.layers.0.attn', and no module of"
    ):
        q.prepare_fx(net, copy.deepcopy(ONEDNN).set_module_name("encoder.layers.0.attn", None), (words,))


def test_a_graph_that_calls_a_transformer_whole(net: Any, words: Any) -> None:
    whole = wb.fx.symbolic_trace(net)
    assert any(node.target == "encoder" for node in whole.graph.nodes)
    integer = graph(whole, words)
    assert sorted(integer_layers(integer)) == sorted(integer_layers(graph(net, words)))
    assert not float_layers(integer) and ratio(net, integer, words) > 28
    assert type(whole.encoder.layers[0].self_attn) is nn.MultiheadAttention


def test_decoders_and_both_together() -> None:
    wb.manual_seed(0)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(32, 4, 64, batch_first=True), 2).eval()
    given = wb.randn(8, 6, 32), wb.randn(8, 9, 32)
    integer = graph(decoder, *given)
    assert len(integer_layers(integer)) == 20 and not float_layers(integer)
    assert ratio(decoder, integer, *given) > 28
    both = nn.Transformer(32, 4, 1, 1, 64, batch_first=True).eval()
    mask = both.generate_square_subsequent_mask(6)
    integer = graph(both, given[1], given[0], tgt_mask=mask)
    assert not float_layers(integer)
    assert ratio(both, integer, given[1], given[0], tgt_mask=mask) > 28


def test_the_house_vision_transformer() -> None:
    wb.manual_seed(0)
    model, x = wb.models.vit_small(size=16, channels=1).eval(), wb.rand(4, 1, 16, 16)
    integer = graph(model, x)
    assert not float_layers(integer) and ratio(model, integer, x) > 20


def test_names_come_through() -> None:
    model, x = encoder(layers=1), wb.randn(8, 6, 32)
    named = x.rename("N", "T", "E")
    for integer in (graph(model, x), graph(model, named), by_layers(model, named)):
        assert integer(named).names == model(named).names == ("N", "T", "E")
        assert ratio(model, integer, named) > 30
    attention = model.layers[0].self_attn
    attention.qconfig = CONFIG
    wanted = attention(named, named, named)
    found = graph(attention, x, x, x)(named, named, named)
    assert [one.names for one in found] == [one.names for one in wanted]
    observed = quantizable.MultiheadAttention.from_float(attention)
    assert observed(named, named, named)[0].names == ("N", "T", "E")


def test_training_with_fake_quantization() -> None:
    model, x = encoder(layers=1, dropout=0.2).train(), wb.randn(8, 6, 32)
    prepared = q.prepare_qat_fx(model, q.get_default_qat_qconfig_mapping("onednn"), (x,))
    optimizer = wb.optim.SGD(prepared.parameters(), 0.05)
    weight = prepared.get_submodule("layers.0.self_attn.linear_K").weight.detach().clone()
    losses = []
    for _ in range(12):
        loss = ((prepared(x) - x * 0.5) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    assert not np.array_equal(
        weight.numpy(), prepared.get_submodule("layers.0.self_attn.linear_K").weight.detach().numpy()
    )
    # In use nothing is dropped.
    integer = q.convert_fx(prepared.eval())
    np.testing.assert_array_equal(integer(x).numpy(), integer(x).numpy())
    assert ratio(prepared, integer, x) > 30 and not float_layers(integer)


def test_dynamic_graphs_and_reference_forms() -> None:
    model, x = encoder(layers=1), wb.randn(8, 6, 32)
    dynamic = graph(model, x, mapping=q.QConfigMapping().set_global(q.default_dynamic_qconfig))
    assert type(dynamic.get_submodule("layers.0.self_attn.linear_V")) is quantized.dynamic.Linear
    assert not float_layers(dynamic) and ratio(model, dynamic, x) > 35
    prepared = q.prepare_fx(model, ONEDNN, (x,))
    prepared(x)
    reference = q.convert_to_reference_fx(prepared)
    assert q.sqnr(reference(x), q.convert_fx(prepared)(x)) > 45


def test_separate_attention_is_the_same() -> None:
    wb.manual_seed(0)
    for settings in ({}, {"kdim": 3, "vdim": 5}, {"bias": False, "add_bias_kv": True}):
        model = nn.MultiheadAttention(8, 2, batch_first=True, **settings).eval()
        given = wb.randn(2, 3, 8), wb.randn(2, 4, model.kdim), wb.randn(2, 4, model.vdim)
        wanted = model(*given)
        wb.manual_seed(5)
        separate(model, alone=True)
        drawn = wb.rand(1).item()
        wb.manual_seed(5)
        # Nothing was drawn.
        assert drawn == wb.rand(1).item()
        assert type(model) is SeparateAttention and model.in_proj_weight is None
        for one, other in zip(model(*given), wanted, strict=True):
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), atol=1e-6)
        assert "in_proj_weight" not in model.state_dict()


# ------------------------------------------------------------------------------------- layer by layer


@pytest.mark.parametrize(
    ("batch_first", "norm_first", "activation"),
    [(True, False, "relu"), (False, True, "gelu"), (True, True, F.silu), (False, False, nn.SiLU())],
)
def test_an_encoder_of_layers_becomes_codes(batch_first: bool, norm_first: bool, activation: Any) -> None:
    model = encoder(
        batch_first=batch_first, norm_first=norm_first, activation=activation, norm=nn.LayerNorm(32)
    )
    x = wb.randn(16, 10, 32)
    integer = by_layers(model, x)
    layer = integer.layers[0]
    assert type(layer) is quantizable.TransformerEncoderLayer
    assert type(layer.self_attn) is quantized.MultiheadAttention
    assert type(layer.norm1) is quantized.LayerNorm and type(layer.add1) is quantized.QFunctional
    assert not float_layers(integer)
    assert ratio(model, integer, x) > 30
    padding = wb.zeros(16, 10).bool() if batch_first else wb.zeros(10, 16).bool()
    padding[:, 8:] = True
    mask = nn.Transformer.generate_square_subsequent_mask(padding.shape[1])
    assert ratio(model, integer, x, src_key_padding_mask=padding) > 26
    assert ratio(model, integer, x, mask=mask) > 14
    assert ratio(model, integer, wb.randn(3, 7, 32)) > 18
    # The model stays as it was, and one layer is a model, too.
    assert type(model.layers[0]) is nn.TransformerEncoderLayer
    assert ratio(model.layers[0], by_layers(model.layers[0], x), x) > 30


class Stubs(nn.Module):
    """An encoder and a decoder, each of whose inputs becomes codes."""

    def __init__(self) -> None:
        super().__init__()
        self.both = nn.Transformer(32, 4, 1, 1, 64, batch_first=True)
        self.first, self.second, self.last = q.QuantStub(), q.QuantStub(), q.DeQuantStub()

    def forward(self, source: Any, target: Any) -> Any:
        return self.last(self.both(self.first(source), self.second(target)))


def test_a_decoder_of_layers_becomes_codes() -> None:
    wb.manual_seed(0)
    model = Stubs().eval()
    given = wb.randn(8, 9, 32), wb.randn(8, 6, 32)
    integer = by_layers(model, *given)
    assert type(integer.both.decoder.layers[0]) is quantizable.TransformerDecoderLayer
    assert not float_layers(integer) and ratio(model, integer, *given) > 30


def test_an_encoder_of_layers_is_trained_with_fake_quantization() -> None:
    model, x = encoder(layers=1, activation="gelu").train(), wb.randn(8, 6, 32)
    prepared = q.prepare_qat(model)
    for _ in range(3):
        prepared(x).sum().backward()
    assert prepared.layers[0].self_attn.linear_Q.weight.grad is not None
    integer = q.convert(prepared.eval())
    assert ratio(prepared, integer, x) > 28 and not float_layers(integer)


def test_layers_of_parts_take_one_that_has_a_qconfig() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    with pytest.raises(wb.QuantizationError, match="TransformerEncoderLayer has no qconfig"):
        quantizable.TransformerEncoderLayer.from_float(layer)
    with pytest.raises(
        wb.QuantizationError, match=r"made of an nn\.TransformerDecoderLayer, and was given a Tr"
    ):
        quantizable.TransformerDecoderLayer.from_float(layer)
    assert type(layer) is nn.TransformerEncoderLayer and not hasattr(layer, "add1")
    layer.qconfig = CONFIG
    assert quantizable.TransformerEncoderLayer.from_float(layer) is layer
    x = wb.randn(3, 1, 8)
    made = quantizable.TransformerEncoderLayer(8, 2, 16).eval()
    made.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(made(x).detach().numpy(), layer.eval()(x).detach().numpy(), atol=1e-6)
