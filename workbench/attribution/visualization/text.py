"""Tokens in the colours of their attributions: as HTML for notebooks, and as figures."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from IPython.display import HTML, display
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from workbench.attribution.visualization.arrays import as_vector, check_finite
from workbench.attribution.visualization.colours import chosen_map
from workbench.attribution.visualization.figures import axes_of, finish
from workbench.base.errors import DimensionError

__all__ = [
    "VisualizationDataRecord",
    "draw_tokens",
    "format_classname",
    "format_special_tokens",
    "format_tooltip",
    "format_word_importances",
    "visualize_text",
]

Array = np.ndarray[Any, Any]

HEADINGS = ("True label", "Predicted label", "Attribution label", "Attribution score", "Word importance")
STYLE = (
    ".wb-tooltip{display:inline-block;position:relative;border-bottom:1px dotted}"
    ".wb-tooltip span{display:none;position:absolute;left:0;top:1.4em;padding:0 4px;white-space:nowrap;"
    "background:#333;color:#fff;z-index:1}.wb-tooltip:hover span{display:block}"
)


class VisualizationDataRecord:
    """What `visualize_text` shows of one text: tokens, their attributions, and what the model said.

    `word_attributions` [T] are numbers of -1 to 1, `raw_input_ids` the tokens as text. Classes are names or numbers.

    >>> record = VisualizationDataRecord([0.9, -0.4], 0.98, "good", "good", "good", 0.5, ["not", "bad"], 1e-4)
    >>> record.pred_class
    'good'
    """

    __slots__ = (
        "attr_class",
        "attr_score",
        "convergence_score",
        "pred_class",
        "pred_prob",
        "raw_input_ids",
        "true_class",
        "word_attributions",
    )

    def __init__(
        self,
        word_attributions: Any,
        pred_prob: Any,
        pred_class: Any,
        true_class: Any,
        attr_class: Any,
        attr_score: Any,
        raw_input_ids: Sequence[str],
        convergence_score: Any,
    ) -> None:
        self.word_attributions = word_attributions
        self.pred_prob = pred_prob
        self.pred_class = pred_class
        self.true_class = true_class
        self.attr_class = attr_class
        self.attr_score = attr_score
        self.raw_input_ids = raw_input_ids
        self.convergence_score = convergence_score


def _style_of(value: float) -> str:
    """Return the CSS of a token: orange for, blue against, over whatever colour the page has."""
    value = max(-1.0, min(1.0, value)) if np.isfinite(value) else 0.0
    red, green, blue = (230, 159, 0) if value > 0 else (0, 114, 178)
    # Letters keep the page's colour, light or dark, but where orange is too bright for light ones.
    ink = "#000" if value > 0.6 else "inherit"
    return f"background-color:rgba({red},{green},{blue},{0.9 * abs(value):.2f});color:{ink}"


def format_classname(classname: Any) -> str:
    """Return a cell of the table with the name of a class.

    >>> format_classname("<b>")
    '<td style="padding-right:1em;text-align:left"><b>&lt;b&gt;</b></td>'
    """
    return f'<td style="padding-right:1em;text-align:left"><b>{html.escape(str(classname))}</b></td>'


def format_special_tokens(token: str) -> str:
    """Return a token in angle brackets, which is no word of the text, with a # instead.

    >>> format_special_tokens("<pad>"), format_special_tokens("pad")
    ('#pad', 'pad')
    """
    inner = token[1:-1]
    special = token.startswith("<") and token.endswith(">") and not ("<" in inner or ">" in inner)
    return f"#{inner}" if special else token


def format_tooltip(item: str, text: str) -> str:
    """Return an item that shows a text below it while it is pointed at.

    >>> print(format_tooltip("cat", "0.9 & more"))
    <div class="wb-tooltip">cat<span>0.9 &amp; more</span></div>
    """
    return f'<div class="wb-tooltip">{html.escape(item)}<span>{html.escape(text)}</span></div>'


def format_word_importances(words: Sequence[str], importances: Any) -> str:
    """Return a cell of the table with words in the colours of their importances [T], each of -1 to 1.

    Raises:
        DimensionError: importances are no list of numbers, or fewer than the words.

    >>> print(format_word_importances(["<s>", "a&b"], [0.0, 1.0]))
    <td style="..."><mark title="0" style="...">#s</mark> <mark title="1" style="...color:#000...">a&amp;b</mark></td>
    """
    if importances is None or len(importances) == 0:
        return "<td></td>"
    values = as_vector(importances, "importances", "format_word_importances")
    if len(words) > len(values):
        raise DimensionError(
            f"{len(words)} words and {len(values)} importances: give one for each word",
            op="format_word_importances",
        )
    # Words beyond which importances go on are all there is to show: the rest is padding.
    return f'<td style="min-width:16em;text-align:left">{" ".join(map(_mark, words, values.tolist()))}</td>'


def _mark(word: str, value: float) -> str:
    shown = html.escape(format_special_tokens(str(word))) or "&nbsp;"
    style = f"{_style_of(value)};padding:2px 3px;border-radius:3px;line-height:1.75"
    return f'<mark title="{value:.3g}" style="{style}">{shown}</mark>'


def visualize_text(datarecords: Iterable[VisualizationDataRecord], legend: bool = True) -> Any:
    """Show a table of texts with their tokens coloured by attribution; return it as IPython's HTML.

    Orange speaks for the class, blue against it; a token's number is shown when it is pointed at. Whatever texts and
    names hold is shown as text, never as markup.

    Raises:
        DimensionError: a text has fewer attributions than tokens.

    >>> record = VisualizationDataRecord([0.9, -0.4], 0.98, 1, 1, 1, 0.5, ["<i>", "bad"], 1e-4)
    >>> table = visualize_text([record])
    <IPython.core.display.HTML object>
    >>> "<i>" in table.data, "#i" in table.data
    (False, True)
    """
    parts = [f"<style>{STYLE}</style>"]
    if legend:
        parts.append(_legend())
    head = "".join(f'<th style="text-align:left">{one}</th>' for one in HEADINGS)
    parts.append(f'<div style="overflow-x:auto"><table style="width:100%;table-layout:auto"><tr>{head}</tr>')
    parts += [_row(one) for one in datarecords]
    parts.append("</table></div>")
    shown = HTML("".join(parts))  # type: ignore[no-untyped-call]
    display(shown)  # type: ignore[no-untyped-call]
    return shown


def _legend() -> str:
    shades = "".join(
        f'<span style="display:inline-block;width:10px;height:10px;border:1px solid;margin:0 4px 0 12px;'
        f'{_style_of(value)}"></span>{label}'
        for value, label in ((-1, "Negative"), (0, "Neutral"), (1, "Positive"))
    )
    return f'<div style="padding:4px 0"><b>Legend:</b>{shades}</div>'


def _row(record: VisualizationDataRecord) -> str:
    cells = [
        format_classname(record.true_class),
        format_classname(f"{record.pred_class} ({float(record.pred_prob):.2f})"),
        format_classname(record.attr_class),
        format_classname(f"{float(record.attr_score):.2f}"),
        format_word_importances(record.raw_input_ids, record.word_attributions),
    ]
    return f'<tr style="vertical-align:top">{"".join(cells)}</tr>'


def draw_tokens(
    tokens: Sequence[str],
    attributions: Any,
    *,
    cmap: Any = None,
    title: str | None = None,
    width: float = 8,
    font_size: float = 12,
    use_pyplot: bool = False,
) -> tuple[Any, Any]:
    """Draw tokens as text, wrapped to `width` inches, each over the colour of its attribution.

    `attributions` [T] are scaled by the greatest among them. Return (figure, axes); the figure is as high as its lines.

    Raises:
        DimensionError: there is not one number for each token.
        ValueError: attributions are NaN or infinite.

    >>> figure, axes = draw_tokens(["not", "bad"], [-0.5, 1.0])
    >>> [text.get_text() for text in axes.texts]
    ['not', 'bad']
    """
    values = as_vector(attributions, "attributions", "draw_tokens")
    if len(values) != len(tokens):
        raise DimensionError(
            f"{len(tokens)} tokens and {len(values)} attributions: give one for each", op="draw_tokens"
        )
    check_finite(values)
    colours = chosen_map(cmap, "all")
    shown = [str(token).replace("\n", "\\n") or " " for token in tokens]
    font = FontProperties(size=font_size)
    places, lines = _wrapped(shown, font, 72 * width - font_size)
    above = 2 * font_size if title else 0
    height = 2 * font_size * lines + above
    figure, axes = axes_of(None, use_pyplot, (width, height / 72))
    axes.set_axis_off()
    axes.set_position((0, 0, 1, 1 - above / height))
    # Points from the upper left corner.
    axes.set_xlim(0, 72 * width)
    axes.set_ylim(height - above, 0)
    most = float(np.abs(values).max(initial=0)) or 1.0
    for token, (right, line), value in zip(shown, places, (values / most).tolist(), strict=True):
        red, green, blue, _ = colours((value + 1) / 2)
        ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
        patch = {"boxstyle": "round,pad=0.25", "facecolor": (red, green, blue), "edgecolor": "none"}
        axes.text(
            right + font_size, (2 * line + 1) * font_size, token, color=ink, fontproperties=font, bbox=patch,
            va="center", parse_math=False,
        )  # fmt: skip
    if title:
        axes.set_title(title, parse_math=False, fontsize=font_size)
    finish(use_pyplot)
    return figure, axes


def _wrapped(shown: Sequence[str], font: Any, width: float) -> tuple[list[tuple[float, int]], int]:
    """Return where each word begins, in points, and its line; and how many lines there are."""
    places: list[tuple[float, int]] = []
    right, line = 0.0, 0
    for word in shown:
        length = float(text_to_path.get_text_width_height_descent(word, font, False)[0])
        length += 0.8 * font.get_size_in_points()
        if right and right + length > width:
            right, line = 0.0, line + 1
        places.append((right, line))
        right += length
    return places, line + 1
