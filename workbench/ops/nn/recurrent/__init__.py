"""Recurrent layers: a whole sequence in one direction as one op.

What a layer makes of its input, x·W_ihᵀ + b, is one product for all steps and comes in as `pre`: [T, N, G], or packed
[rows, G] where `batch_sizes` says how many sequences have each step (longest first). The state is [N, H]; sequences
that have ended keep theirs. Gradients are written once, in arithmetic that arrays and values both know: as array code
they are ops of their own, and where a gradient is itself recorded they are taken step by step.
"""

from __future__ import annotations

from workbench.ops.nn.recurrent.gru import GRU
from workbench.ops.nn.recurrent.lstm import LSTM
from workbench.ops.nn.recurrent.rnn import RNN

__all__ = ["GRU", "LSTM", "RNN"]
