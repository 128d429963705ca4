"""Testing with concept activation vectors: does the output rest on a concept?"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from workbench.attribution.checks import check_count
from workbench.attribution.concept.cav import CAV
from workbench.attribution.concept.classifier import Classifier, DefaultClassifier
from workbench.attribution.concept.concept import Concept, ConceptInterpreter, concepts_to_str
from workbench.attribution.concept.files import path_part, read_facts, write_facts
from workbench.attribution.layer.activation import LayerActivation
from workbench.attribution.layer.gradients import LayerGradientXActivation
from workbench.attribution.layers import find_layer
from workbench.core.value import new
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["TCAV"]

Array = np.ndarray[Any, Any]
NAME = "TCAV"
WHOLE = "whole.safetensors"
"""Written when the activations of all of a concept's examples are."""


class TCAV(ConceptInterpreter):
    """How much a model's output rests on concepts, by the derivative of the output along their directions in layers.

    `layers` are dotted names, one or a list. `classifier` tells the activations of a set of concepts from one another,
    and its weights are the directions; it gets `classifier_kwargs`. `layer_attr_method` gives attributions of a layer,
    without it gradients (`LayerGradientXActivation` with ``multiply_by_inputs=False``). Activations and directions are
    written below `save_path`, in a folder named `model_id`, and read from there when they are asked again: give a model
    whose parameters changed another `model_id`.

    Raises:
        TypeError: `model` is no module.
        ValueError: the model has no such layer, or `model_id` is no name of a folder.

    Source: Kim et al.: Interpretability Beyond Feature Attribution: Quantitative Testing with Concept Activation
    Vectors (2018).
    """

    def __init__(
        self,
        model: Module,
        layers: str | list[str],
        model_id: str = "default_model_id",
        classifier: Classifier | None = None,
        layer_attr_method: Any = None,
        attribute_to_layer_input: bool = False,
        save_path: str = "./cav/",
        **classifier_kwargs: Any,
    ) -> None:
        super().__init__(model)
        self.layers = [layers] if isinstance(layers, str) else list(layers)
        if not self.layers:
            raise ValueError(f"{NAME}: there are no layers; give the dotted name of one, or a list")
        for layer in self.layers:
            find_layer(NAME, model, layer)
        self.model_id = path_part("model_id", model_id)
        self.concepts: set[Concept] = set()
        self.classifier = DefaultClassifier() if classifier is None else classifier
        self.classifier_kwargs = classifier_kwargs
        self.cavs: dict[str, dict[str, CAV]] = {}
        self.layer_attr_method = (
            LayerGradientXActivation(model, self.layers[0], multiply_by_inputs=False)
            if layer_attr_method is None
            else layer_attr_method
        )
        self.attribute_to_layer_input = attribute_to_layer_input
        self.save_path = save_path
        CAV.create_cav_dir_if_missing(save_path, model_id)

    def generate_all_activations(self) -> None:
        """Write the activations of all known concepts in all layers."""
        for concept in self.concepts:
            self.generate_activation(self.layers, concept)

    def generate_activation(self, layers: str | list[str], concept: Concept) -> None:
        """Write the activations of a concept's examples in some layers, a file a batch.

        Raises:
            ValueError: the concept has no examples.
        """
        names = [layers] if isinstance(layers, str) else list(layers)
        if concept.data_iter is None:
            raise ValueError(f"{NAME}: {concept!r} has no examples; give Concept(id, name, data_iter)")
        for name in names:
            for file in self._folder(concept, name).glob("*.safetensors"):
                file.unlink()
        count = 0
        for count, examples in enumerate(concept.data_iter, 1):
            found = LayerActivation(self.model, names).attribute(
                tuple(examples) if isinstance(examples, list) else examples,
                attribute_to_layer_input=self.attribute_to_layer_input,
            )
            for name, activation in zip(names, found, strict=True):
                path = self._folder(concept, name) / f"{count - 1:06d}.safetensors"
                write_facts(path, {"activations": new(_flat(activation), None)})
        if not count:
            raise ValueError(f"{NAME}: {concept!r} has no examples: its data_iter gives no batch")
        for name in names:
            write_facts(self._folder(concept, name) / WHOLE, {"batches": count})

    def generate_activations(self, concept_layers: dict[Concept, list[str]]) -> None:
        """Write the activations of concepts, each in its layers."""
        for concept, layers in concept_layers.items():
            self.generate_activation(layers, concept)

    def load_cavs(self, concepts: list[Concept]) -> tuple[list[str], dict[Concept, list[str]]]:
        """Read the directions of a set of concepts; return what is missing.

        These are the layers without directions, and for each concept the layers without activations.
        """
        key = concepts_to_str(concepts)
        layers: list[str] = []
        missing: dict[Concept, list[str]] = {}
        for layer in self.layers:
            cav = CAV.load(self.save_path, self.model_id, concepts, layer)
            if cav is not None:
                self.cavs.setdefault(key, {})[layer] = cav
            if self.cavs.get(key, {}).get(layer) is None:
                layers.append(layer)
                for concept in concepts:
                    if not self._files(concept, layer):
                        missing.setdefault(concept, []).append(layer)
        return layers, missing

    def compute_cavs(
        self, experimental_sets: list[list[Concept]], force_train: bool = False, processes: int | None = None
    ) -> dict[str, dict[str, CAV]]:
        """Return the directions of sets of concepts by the sets' ids and by layer, read from files or learned.

        If `force_train`, all activations and directions are made anew. With `processes` above 1 as many sets are
        learned at once, in threads, each by a copy of the classifier.

        Raises:
            TypeError: a set has something else than concepts.
            ValueError: two concepts have the same id, a set has fewer than two or one twice, or a concept has no
                examples.
        """
        _check_sets(experimental_sets)
        for concepts in experimental_sets:
            self.concepts.update(concepts)
        _check_ids(self.concepts)
        if force_train:
            self.generate_all_activations()
        work: list[tuple[list[Concept], list[str]]] = []
        for concepts in experimental_sets:
            layers = self.layers
            if not force_train:
                layers, missing = self.load_cavs(concepts)
                self.generate_activations(missing)
            work.append((concepts, layers))
        if processes is not None and check_count(NAME, "processes", processes) > 1:
            with ThreadPoolExecutor(processes) as pool:
                pairs = [(concepts, layers, copy.deepcopy(self.classifier)) for concepts, layers in work]
                found = list(pool.map(lambda one: self._train(*one), pairs))
        else:
            found = [self._train(concepts, layers, self.classifier) for concepts, layers in work]
        for (concepts, _), cavs in zip(work, found, strict=True):
            self.cavs.setdefault(concepts_to_str(concepts), {}).update(cavs)
        return self.cavs

    def interpret(
        self,
        inputs: Any,
        experimental_sets: list[list[Concept]],
        target: Any = None,
        additional_forward_args: Any = None,
        processes: int | None = None,
        **kwargs: Any,
    ) -> dict[str, dict[str, dict[str, Tensor]]]:
        """Return by the ids of a set and by layer how `inputs` rest on its concepts, as tensors [concept].

        ``sign_count`` is the share of the inputs whose target rises along the concept's direction, ``magnitude`` the
        mean of the derivatives; concepts stand in the set's order. `kwargs` go to `layer_attr_method`.

        Raises:
            TypeError: `kwargs` name ``attribute_to_layer_input``, which is said once, for the whole object.
            ValueError: as `compute_cavs` does, or directions that do not fit the layer.
        """
        if "attribute_to_layer_input" in kwargs:
            raise TypeError(
                f"{NAME}: attribute_to_layer_input is an argument of TCAV(…), for directions and scores alike"
            )
        self.compute_cavs(experimental_sets, processes=processes)
        scores: dict[str, dict[str, dict[str, Tensor]]] = {}
        for layer in self.layers:
            method = copy.copy(self.layer_attr_method)
            method.layer = layer
            found = method.attribute(
                inputs,
                target=target,
                additional_forward_args=additional_forward_args,
                attribute_to_layer_input=self.attribute_to_layer_input,
                **kwargs,
            )
            attributions = _flat(found)
            for concepts in experimental_sets:
                key = concepts_to_str(concepts)
                scores.setdefault(key, {})[layer] = _scores(attributions, concepts, self.cavs[key][layer])
        return scores

    def _train(
        self, concepts: list[Concept], layers: Sequence[str], classifier: Classifier
    ) -> dict[str, CAV]:
        found: dict[str, CAV] = {}
        for layer in layers:
            said = classifier.train_and_eval(self._labelled(concepts, layer), **self.classifier_kwargs)
            classes = classifier.classes()
            stats = {
                "weights": classifier.weights(),
                "classes": classes.tolist() if hasattr(classes, "tolist") else list(classes),
                **(said or {}),
            }
            found[layer] = CAV(concepts, layer, stats, self.save_path, self.model_id)
            found[layer].save()
        return found

    def _labelled(self, concepts: Iterable[Concept], layer: str) -> Labelled:
        return Labelled([(concept.id, file) for concept in concepts for file in self._files(concept, layer)])

    def _folder(self, concept: Concept, layer: str) -> Path:
        parts = (path_part("a concept's name", concept.identifier), path_part("a layer's name", layer))
        return Path(self.save_path, self.model_id, *parts)

    def _files(self, concept: Concept, layer: str) -> list[Path]:
        """Return the files of a concept's activations; none where they are not whole."""
        folder = self._folder(concept, layer)
        return sorted(folder.glob("[0-9]*.safetensors")) if (folder / WHOLE).exists() else []


class Labelled:
    """Batches of activations with the ids of their concepts, read from their files when they are needed."""

    def __init__(self, files: Sequence[tuple[int, Path]]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for number, file in self.files:
            activations = read_facts(file)["activations"]
            yield activations, new(np.full(activations.shape[0], number, np.int64), None)


def _flat(found: Any) -> Array:
    """Return [N, features] of what a layer gives, several tensors side by side."""
    parts = found if isinstance(found, tuple) else (found,)
    return np.concatenate([one.detach().numpy(force=True).reshape(one.shape[0], -1) for one in parts], axis=1)


def _scores(attributions: Array, concepts: Sequence[Concept], cav: CAV) -> dict[str, Tensor]:
    stats = cav.stats or {}
    weights = stats["weights"].detach().numpy(force=True)
    if weights.ndim != 2 or weights.shape[1] != attributions.shape[1]:
        raise ValueError(
            f"{NAME}: directions in layer {cav.layer!r} are {list(weights.shape)}, and its attributions have "
            f"{attributions.shape[1]} values a sample; they were made for another model: use another model_id, or "
            "compute_cavs(…, force_train=True)"
        )
    along = attributions @ weights.T.astype(attributions.dtype)
    classes = [int(one) for one in stats["classes"]]
    missing = [one for one in concepts if one.id not in classes]
    if missing:
        raise ValueError(
            f"{NAME}: the directions in layer {cav.layer!r} are those of the classes {classes}, and none is of "
            f"{missing[0]!r}: the labels that a classifier learns from are the concepts' ids"
        )
    order = [classes.index(one.id) for one in concepts]
    return {
        "sign_count": new((along > 0).mean(axis=0)[order].astype(along.dtype), ("concept",)),
        "magnitude": new(along.mean(axis=0)[order], ("concept",)),
    }


def _check_sets(sets: list[list[Concept]]) -> None:
    for concepts in sets:
        if isinstance(concepts, Concept) or len(concepts) < 2:
            raise ValueError(f"{NAME}: experimental sets are lists of two concepts or more, got {concepts!r}")
        for one in concepts:
            if not isinstance(one, Concept):
                raise TypeError(
                    f"{NAME}: a set has concepts, Concept(id, name, data_iter), and here a {type(one).__name__}"
                )
        if len(set(concepts)) < len(concepts):
            raise ValueError(f"{NAME}: a concept is told from others, and is twice in the set {concepts!r}")


def _check_ids(concepts: Iterable[Concept]) -> None:
    known: dict[int, Concept] = {}
    for one in concepts:
        if one.id in known:
            raise ValueError(
                f"{NAME}: {known[one.id]!r} and {one!r} have the same id; use one object for one concept, and other "
                "ids for others"
            )
        known[one.id] = one
