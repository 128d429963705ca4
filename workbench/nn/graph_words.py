"""What layers do that looks into tensors, as functions that graphs call by names: ``nn.utils.rnn.pad_sequence``.

A text of a graph names them, so a script that calls them can be kept in an archive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.graph import NamedFunction
from workbench.graph.vocabulary import ROOMS_ABOVE
from workbench.nn.modules.transformer import added, check_pair, is_causal_mask
from workbench.nn.positional_dims import check_places
from workbench.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence

__all__ = ["word_for"]


def _pad_packed(sequence: Any, *arguments: Any, **keywords: Any) -> tuple[Any, Any]:
    # A named tuple that a script makes is a tuple in its graph.
    return pad_packed_sequence(PackedSequence(*sequence), *arguments, **keywords)


_WORDS: dict[Callable[..., Any], NamedFunction] = {
    function: NamedFunction(f"nn.{name}", call)
    for function, name, call in (
        (pack_padded_sequence, "utils.rnn.pack_padded_sequence", pack_padded_sequence),
        (pad_packed_sequence, "utils.rnn.pad_packed_sequence", _pad_packed),
        (pad_sequence, "utils.rnn.pad_sequence", pad_sequence),
        (check_places, "positional_dims.check_places", check_places),
        (added, "modules.transformer.added", added),
        (check_pair, "modules.transformer.check_pair", check_pair),
        (is_causal_mask, "modules.transformer.is_causal_mask", is_causal_mask),
    )
}
_BY_NAME = {one.name: one for one in _WORDS.values()}
ROOMS_ABOVE["nn"] = _BY_NAME.get


def word_for(function: Any) -> NamedFunction | None:
    """Return the entry of a function of this room that graphs call by a name; None for any other.

    >>> word_for(pad_sequence)
    <function nn.utils.rnn.pad_sequence>
    """
    return _WORDS.get(function) if callable(function) and hasattr(function, "__name__") else None
