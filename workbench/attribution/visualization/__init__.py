"""Attributions as matplotlib figures and HTML, for papers, reports and places without the view: Captum's functions.

Import it by name, ``from workbench.attribution import visualization``: it brings matplotlib with it.

>>> import numpy as np
>>> from workbench.attribution import visualization
>>> attributions = np.array([[1.0, -2.0], [0.0, 4.0]])
>>> figure, axes = visualization.visualize_image_attr(attributions, sign="all", use_pyplot=False)
>>> axes.get_images()[0].get_array().tolist()
[[0.25, -0.5], [0.0, 1.0]]
"""

from __future__ import annotations

from workbench.attribution.visualization.colours import CAPTUM_MAPS, MAPS
from workbench.attribution.visualization.images import (
    ImageVisualizationMethod,
    Method,
    show,
    visualize_image_attr,
    visualize_image_attr_multiple,
)
from workbench.attribution.visualization.masks import draw_mask_border, draw_mask_legend, draw_mask_overlay
from workbench.attribution.visualization.matrix import draw_token_bars, draw_token_matrix
from workbench.attribution.visualization.normalization import Sign, VisualizeSign, normalize
from workbench.attribution.visualization.series import (
    TimeseriesVisualizationMethod,
    visualize_timeseries_attr,
)
from workbench.attribution.visualization.sound import visualize_sound_attr
from workbench.attribution.visualization.tables import visualize_table_attr
from workbench.attribution.visualization.text import (
    VisualizationDataRecord,
    draw_tokens,
    format_classname,
    format_special_tokens,
    format_tooltip,
    format_word_importances,
    visualize_text,
)
from workbench.base.public import words

__all__ = [
    "CAPTUM_MAPS",
    "ImageVisualizationMethod",
    "MAPS",
    "Method",
    "Sign",
    "TimeseriesVisualizationMethod",
    "VisualizationDataRecord",
    "VisualizeSign",
    "draw_mask_border",
    "draw_mask_legend",
    "draw_mask_overlay",
    "draw_token_bars",
    "draw_token_matrix",
    "draw_tokens",
    "format_classname",
    "format_special_tokens",
    "format_tooltip",
    "format_word_importances",
    "normalize",
    "show",
    "visualize_image_attr",
    "visualize_image_attr_multiple",
    "visualize_sound_attr",
    "visualize_table_attr",
    "visualize_text",
    "visualize_timeseries_attr",
]

__getattr__, __dir__ = words(__name__, __all__)
