"""The official node tests that do not pass, each with its reason: one that passes after all fails the run."""

from __future__ import annotations

import re

LATER = (
    "an operator of version 27, after those that are read (7 to 22, and what later versions changed in them)"
)
PREVIEW = "an operator of the domain ai.onnx.preview, which has not been settled"
TRAINING = "a step of an optimizer: workbench.optim has those"
TREES = "an ensemble of decision trees, which is walked and not computed"
PICTURES = "it reads compressed pictures: a program does that before the model"
WORDS = "it counts words: a program does that before the model"
ANCIENT = "written for version 1 of the operators, and 7 is the oldest that is read"
BATCHED = "Scan of version 8, which had a batch and was withdrawn"

DECLARED = {
    r"test_linear_attention_.*": LATER,
    r"test_causal_conv_with_state_.*": LATER,
    r"test_flexattention.*": PREVIEW,
    r"test_(adagrad|adam|momentum|nesterov_momentum)(_multiple)?": TRAINING,
    r"test_ai_onnx_ml_tree_ensemble_.*": TREES,
    r"test_image_decoder_.*": PICTURES,
    r"test_tfidfvectorizer_.*": WORDS,
    r"test_not_[234]d": ANCIENT,
    r"test_scan_sum": BATCHED,
}

DRAWN = re.compile(r"test_bernoulli.*|test_training_dropout(_default)?(_mask)?")
"""What is drawn: types and shapes are compared, not numbers."""


def reason(name: str) -> str | None:
    """Return why a case is not expected to pass; None where it is."""
    if re.search(r"_expanded(_ver\d+)?$", name):
        # Written with the operators that we have, it is one of theirs.
        return None
    return next((why for pattern, why in DECLARED.items() if re.fullmatch(pattern, name)), None)
