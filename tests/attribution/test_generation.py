"""Which part of a prompt caused which token that a model wrote."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import (
    Attribution,
    InterpretableInput,
    Lime,
    LLMAttribution,
    LLMAttributionResult,
    LLMGradientAttribution,
    TextTemplateInput,
    TextTokenInput,
)
from workbench.attribution.arguments import ask
from workbench.attribution.base import Answer
from workbench.models import Vocabulary

WORDS = Vocabulary(["a", "b", "c", "d", "e", "f", "g", "h"])


class Writer(nn.Module):
    """Scores of the next token, from the mean over those before it."""

    def __init__(self) -> None:
        super().__init__()
        wb.manual_seed(0)
        self.table, self.last = nn.Embedding(9, 6), nn.Linear(6, 9)
        self.dropout = nn.Dropout(0.5)
        self.calls: list[tuple[int, ...]] = []

    def forward(self, numbers: Any) -> Any:
        self.calls.append(tuple(numbers.shape))
        steps = wb.arange(1, numbers.shape[1] + 1).float().unsqueeze(1)
        return self.last(self.dropout(self.table(numbers)).tanh().cumsum(1) / steps)


class LeaveOut(Attribution):
    """What each number of the output loses without a feature: a method of a dozen lines."""

    name = "Leave out"

    def attribute(self, inputs: Any) -> Any:
        question = ask("LeaveOut", inputs, any_type=True)
        return question.named(self.answer(question).attributions)[0]

    def _compute(self, question: Any) -> Answer:
        rows = 1 - np.eye(question.inputs[0].shape[1])
        before, after = self.forward(wb.from_numpy(rows * 0 + 1)), self.forward(wb.from_numpy(rows))
        return Answer([(before - after).numpy().T.reshape(1, -1, len(rows))])


@pytest.fixture
def model() -> Writer:
    return Writer().eval()


def log_probabilities(model: Any, prompt: list[int], targets: list[int]) -> np.ndarray[Any, Any]:
    found = []
    for token in targets:
        found.append(float(model(wb.tensor([prompt]))[0, -1].double().log_softmax(-1)[token]))
        prompt = [*prompt, token]
    return np.array(found)


@pytest.mark.parametrize("attr_target", ["log_prob", "prob"])
@pytest.mark.parametrize("options", [{}, {"use_cached_outputs": False}, {"forward_in_tokens": False}])
def test_tokens_that_are_left_out(model: Writer, attr_target: str, options: Any) -> None:
    method = LLMAttribution(LeaveOut(model), WORDS, attr_target)
    text = TextTokenInput("a b c", WORDS)
    found = method.attribute(text, "d e", num_trials=2, **options)
    assert (found.input_tokens, found.output_tokens) == (["a", "b", "c"], ["d", "e"])
    whole = log_probabilities(model, [1, 2, 3], [4, 5])
    for place in range(3):
        left = [0 if one == place else one + 1 for one in range(3)]
        rest = log_probabilities(model, left, [4, 5])
        if attr_target == "log_prob":
            each, every = whole - rest, whole.sum() - rest.sum()
        else:
            each, every = np.exp(whole) - np.exp(rest), np.exp(whole.sum()) - np.exp(rest.sum())
        np.testing.assert_allclose(found.token_attr.numpy()[:, place], each, atol=1e-6)
        np.testing.assert_allclose(found.seq_attr.numpy()[place], every, atol=1e-6)


def test_the_same_features_are_asked_once(model: Writer) -> None:
    text = TextTokenInput("a b", WORDS)
    LLMAttribution(LeaveOut(model), WORDS).attribute(text, "c", num_trials=3)
    assert model.calls == [(1, 2), (2, 2)]
    model.calls.clear()
    LLMAttribution(LeaveOut(model), WORDS).attribute(text, "c", num_trials=3, use_cached_outputs=False)
    assert model.calls == [(1, 2), (2, 2)] * 3


def test_pieces_of_a_template(model: Writer) -> None:
    text = TextTemplateInput("{x} b {y} {z}", {"x": "a", "y": "c", "z": "d"}, mask={"x": 7, "y": 2, "z": 7})
    assert text.n_itp_features == 2
    found = LLMAttribution(LeaveOut(model), WORDS).attribute(text, "e")
    first, second, third = found.seq_attr.tolist()
    assert first == third != second, "pieces of one feature"
    whole = log_probabilities(model, [1, 2, 3, 4], [5])
    np.testing.assert_allclose(first, (whole - log_probabilities(model, [2, 3], [5]))[0], atol=1e-6)
    assert found.seq_attr_dict == {"a": first, "c": second, "d": third}


def test_what_the_model_writes_is_explained(model: Writer) -> None:
    method, text = LLMAttribution(LeaveOut(model), WORDS), TextTokenInput("a b", WORDS)
    written = method.attribute(text, gen_args={"max_new_tokens": 3}).output_tokens
    tokens = [1, 2]
    for _ in range(3):
        tokens.append(int(model(wb.tensor([tokens]))[0, -1].argmax()))
    assert written == [WORDS.words[one] for one in tokens[2:]]
    asked: list[Any] = []

    def generate(numbers: Any, **options: Any) -> Any:
        asked.append(options)
        return wb.tensor([[*numbers[0].tolist(), 7, 8]])

    model.generate = generate  # type: ignore[assignment]
    assert method.attribute(text).output_tokens == ["g", "h"] and asked == [{"max_new_tokens": 25}]


def test_a_model_in_training_is_warned_of_and_put_back(model: Writer) -> None:
    text = TextTokenInput("a b", WORDS)
    expected = LLMAttribution(LeaveOut(model), WORDS).attribute(text, "c").seq_attr
    with pytest.warns(wb.attribution.TrainingModeWarning):
        found = LLMAttribution(LeaveOut(model.train()), WORDS).attribute(text, "c").seq_attr
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert model.training


def test_models_that_answer_with_more_than_scores(model: Writer) -> None:
    text = TextTokenInput("a b", WORDS)
    expected = LLMAttribution(LeaveOut(model), WORDS).attribute(text, "c").seq_attr.tolist()
    wrapped = lambda numbers: SimpleNamespace(logits=model(numbers).rename("N", "T", "token"))
    assert LLMAttribution(LeaveOut(wrapped), WORDS).attribute(text, [3]).seq_attr.tolist() == expected


class Spaces:
    """A tokenizer in the manner of transformers: one token a letter, a start in front."""

    def encode(self, text: str) -> list[int]:
        return [0, *(ord(one) - 96 for one in text.split())]

    def convert_ids_to_tokens(self, numbers: list[int]) -> list[str]:
        return ["<s>" if one == 0 else f"Ġ{chr(one + 96)}" for one in numbers]

    def convert_tokens_to_ids(self, tokens: list[str]) -> list[int | None]:
        return [{"<s>": 0, "a": 1}.get(one) for one in tokens]


def test_tokens_that_are_no_features(model: Writer) -> None:
    text = TextTokenInput("a b c", Spaces(), baselines="a", skip_tokens=["<s>"])
    assert text.values == ["Ġa", "Ġb", "Ġc"] and text.to_tensor().tolist() == [[1, 1, 1]]
    rows = wb.tensor([[1, 1, 1], [0, 0, 1]])
    assert text.to_model_input(rows).tolist() == [[0, 1, 2, 3], [0, 1, 1, 3]]
    assert text.to_model_input().tolist() == [[0, 1, 2, 3]]
    found = LLMAttribution(LeaveOut(model), Spaces()).attribute(text, "d e", skip_tokens=[0])
    assert found.output_tokens == ["d", "e"] and found.token_attr.shape == (2, 3)
    with pytest.raises(ValueError, match="no token 'zebra'"):
        TextTokenInput("a", Spaces(), skip_tokens=["zebra"])


def test_templates() -> None:
    text = TextTemplateInput(lambda a, b: f"{a}-{b}", ["x", "y"], lambda: ["1", "2"])
    assert text.to_model_input(wb.tensor([[0.0, 1.0]])) == "1-y"
    with pytest.raises(ValueError, match="1 baselines for 2 values"):
        TextTemplateInput("{}{}", ["x", "y"], ["1"])
    with pytest.raises(ValueError, match="baselines and values are of one form"):
        TextTemplateInput("{a}", {"a": "x"}, ["1"])
    with pytest.raises(ValueError, match="mask are of b, values of a"):
        TextTemplateInput("{a}", {"a": "x"}, mask={"b": 0})


class AtTable(Attribution):
    """Gradient times value at what a table gives."""

    name = "At table"

    def __init__(self, forward: Any, table: Any) -> None:
        super().__init__(forward)
        self.table = table

    def attribute(self, numbers: Any) -> Any:
        question = ask("AtTable", numbers, any_type=True)
        return wb.from_numpy(self.answer(question).attributions[0])

    def _compute(self, question: Any) -> Answer:
        kept: list[Any] = []

        def keep(module: Any, given: Any, found: Any) -> Any:
            kept.append(found.detach().requires_grad_())
            return kept[-1]

        with self.table.register_forward_hook(keep):
            score = self.forward(question.inputs[0]).sum()
        return Answer([(wb.autograd.grad(score, kept)[0] * kept[0]).detach().numpy()])


def test_gradients_at_the_tokens(model: Writer) -> None:
    text = TextTokenInput("a b c", Spaces(), skip_tokens=["<s>"])
    found = LLMGradientAttribution(AtTable(model, model.table), Spaces()).attribute(text, [4, 5])
    assert found.input_tokens == ["Ġa", "Ġb", "Ġc"] and found.output_tokens == ["d", "e"]
    for row, numbers in enumerate([[0, 1, 2, 3], [0, 1, 2, 3, 4]]):
        vectors = model.table(wb.tensor([numbers])).detach().requires_grad_()
        scores = model.last(vectors.tanh().sum(1) / len(numbers)).log_softmax(-1)
        (slopes,) = wb.autograd.grad(scores[0, 4 + row], [vectors])
        expected = (slopes * vectors).sum(-1)[0, 1:4].detach().numpy()
        np.testing.assert_allclose(found.token_attr.numpy()[row], expected, atol=1e-6)
    np.testing.assert_allclose(found.seq_attr.numpy(), found.token_attr.numpy().sum(0))
    with pytest.raises(TypeError, match="which a TextTemplateInput has not"):
        LLMGradientAttribution(AtTable(model, model.table), WORDS).attribute(
            TextTemplateInput("{}", ["a"]), "b"
        )  # type: ignore[arg-type]


def test_pictures() -> None:
    values = np.array([[0.5, -1.0], [0.0, 0.25]])
    result = LLMAttributionResult(
        input_tokens=["$x", "a\nb"], output_tokens=["<b>", ""], seq_attr=[1.0, -1.0], token_attr=values
    )
    drawn: Any = result.plot_token_attr()
    figure, axes = drawn
    np.testing.assert_array_equal(axes.get_images()[0].get_array(), values)
    assert axes.get_images()[0].get_clim() == (-1, 1)
    assert [one.get_text() for one in axes.get_xticklabels()] == ["$x", "a\\nb"]
    assert [one.get_text() for one in axes.texts] == ["0.5", "-1", "0", "0.25"]
    figure.savefig(io.BytesIO(), format="png")
    bars: Any = result.plot_seq_attr()
    assert [one.get_height() for one in bars[1].patches] == [1, -1]
    bars[0].savefig(io.BytesIO(), format="png")
    only = LLMAttributionResult(input_tokens=["a"], output_tokens=["b"], seq_attr=[0.0])
    with pytest.raises(ValueError, match="plot_seq_attr draws them"):
        only.plot_token_attr()
    with pytest.raises(wb.DimensionError, match=r"token_attr has shape \[2, 2\], which is to be \[1, 2\]"):
        LLMAttributionResult(input_tokens=["a", "b"], output_tokens=["c"], seq_attr=[0, 0], token_attr=values)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"target": 3.5}, TypeError, "target is a text or numbers of tokens, got float"),
        ({"target": ""}, ValueError, "nothing to explain"),
        ({"target": "c", "gen_args": {}}, ValueError, "give either"),
        ({"gen_args": {"temperature": 1}}, ValueError, "max_new_tokens alone, not 'temperature'"),
        ({"target": "c", "num_trials": 0}, ValueError, "num_trials is 1 or more, got 0"),
        ({"target": "c", "num_trials": 1.5}, TypeError, "num_trials is a whole number, got 1.5"),
        ({"target": [2, -1]}, ValueError, "0 or more, the target has -1"),
        ({"gen_args": {"max_new_tokens": 0}}, ValueError, "wrote no token after the prompt"),
        ({"inp": "a b", "target": "c"}, TypeError, r"TextTokenInput\(text, tokenizer\).*got str"),
    ],
)
def test_refusals(model: Writer, change: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        LLMAttribution(LeaveOut(model), WORDS).attribute(**{"inp": TextTokenInput("a b", WORDS), **change})


def test_what_is_no_method_or_no_writer() -> None:
    with pytest.raises(TypeError, match=r"such as FeatureAblation\(model\), got Writer"):
        LLMAttribution(Writer(), WORDS)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'log_prob' or 'prob', got 'logit'"):
        LLMAttribution(LeaveOut(len), WORDS, "logit")
    with pytest.raises(wb.DimensionError, match=r"scores \[N, T, token\].*returned shape \[1, 2\]"):
        LLMAttribution(LeaveOut(lambda x: x), WORDS).attribute(TextTokenInput("a b", WORDS), "c")
    assert not LLMAttribution(Lime(Writer()), WORDS).include_per_token_attr
    with pytest.raises(TypeError, match=r"has encode\(text\), a int has not"):
        TextTokenInput("a", 3)
    assert issubclass(TextTokenInput, InterpretableInput)
