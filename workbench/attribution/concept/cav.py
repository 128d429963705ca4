"""Concept activation vectors, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.attribution.concept.concept import Concept, concepts_to_str
from workbench.attribution.concept.files import path_part, read_facts, write_facts

__all__ = ["CAV"]


class CAV:
    """The directions of some concepts in a layer.

    `stats` holds what the classifier found: ``weights`` [concepts, features], ``classes``, the concepts' ids in their
    order, and what `train_and_eval` returned, such as ``accs``.

    Source: Kim et al.: Interpretability Beyond Feature Attribution: Quantitative Testing with Concept Activation
    Vectors (2018).

    >>> CAV([Concept(0, "striped", None)], "conv1").layer
    'conv1'
    """

    def __init__(
        self,
        concepts: list[Concept],
        layer: str,
        stats: dict[str, Any] | None = None,
        save_path: str = "./cav/",
        model_id: str = "default_model_id",
    ) -> None:
        self.concepts = concepts
        self.layer = layer
        self.stats = stats
        self.save_path = save_path
        self.model_id = model_id

    @staticmethod
    def assemble_save_path(path: str, model_id: str, concepts: list[Concept], layer: str) -> str:
        """Return the path of a file: the concepts' ids and the layer.

        Raises:
            ValueError: a part of it would lead elsewhere.

        >>> CAV.assemble_save_path("cav", "net", [Concept(0, "striped", None)], "conv1")
        'cav/net/0-conv1.safetensors'
        """
        name = path_part("a layer's name", f"{concepts_to_str(concepts)}-{layer}.safetensors")
        return (Path(path) / path_part("model_id", model_id) / name).as_posix()

    def save(self) -> None:
        """Write a safetensors file, which holds tensors and text and nothing that runs.

        Raises:
            TypeError: `stats` holds what is no tensor, number or text.
        """
        path = CAV.assemble_save_path(self.save_path, self.model_id, self.concepts, self.layer)
        facts = {
            "concept_ids": [one.id for one in self.concepts],
            "concept_names": [one.name for one in self.concepts],
            "layer": self.layer,
            "has_stats": self.stats is not None,
        }
        stats = {f"stats.{name}": value for name, value in (self.stats or {}).items()}
        write_facts(Path(path), {**facts, **stats})

    @staticmethod
    def create_cav_dir_if_missing(save_path: str, model_id: str) -> None:
        """Make the folder of a model's files."""
        (Path(save_path) / path_part("model_id", model_id)).mkdir(parents=True, exist_ok=True)

    @staticmethod
    def load(cavs_path: str, model_id: str, concepts: list[Concept], layer: str) -> CAV | None:
        """Return what was saved for these concepts and this layer; None if nothing was.

        Raises:
            ValueError: the file is no such file.
        """
        path = Path(CAV.assemble_save_path(cavs_path, model_id, concepts, layer))
        if not path.exists():
            return None
        facts = read_facts(path)
        missing = [
            name for name in ("concept_ids", "concept_names", "layer", "has_stats") if name not in facts
        ]
        if missing:
            raise ValueError(f"{path} is no file of concept directions: it has no {missing[0]!r}")
        named = zip(facts["concept_ids"], facts["concept_names"], strict=True)
        stats = {
            name.removeprefix("stats."): value for name, value in facts.items() if name.startswith("stats.")
        }
        return CAV(
            [Concept(number, name, None) for number, name in named],
            facts["layer"],
            stats if facts["has_stats"] else None,
            cavs_path,
            model_id,
        )
