"""Modules that hold modules or parameters: what a list and a dict can do."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import workbench as wb
from workbench import nn


def kinds(row: Any) -> list[str]:
    return [type(module).__name__ for module in row]


def test_rows_are_joined_repeated_and_changed_like_lists() -> None:
    row = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert kinds(row + nn.Sequential(nn.Identity())) == ["ReLU", "Tanh", "Identity"]
    assert kinds(row * 2) == kinds(2 * row) == ["ReLU", "Tanh"] * 2
    assert row[0] is (row * 2)[2]
    row.insert(1, nn.Identity())
    assert kinds(row) == ["ReLU", "Identity", "Tanh"]
    row.insert(-1, nn.Sigmoid())
    assert [name for name, _ in row.named_children()] == ["0", "1", "2", "3"]
    assert type(row.pop(-1)).__name__ == "Tanh"
    del row[0]
    assert list(dict(row.named_children())) == ["0", "1"]
    assert kinds(row) == ["Identity", "Sigmoid"]
    row.extend([nn.ReLU()])
    row += nn.Sequential(nn.Tanh())
    row *= 2
    assert kinds(row) == ["Identity", "Sigmoid", "ReLU", "Tanh"] * 2
    del row[::2]
    assert kinds(row) == ["Sigmoid", "Tanh"] * 2
    assert kinds(reversed(list(row))) == ["Tanh", "Sigmoid"] * 2


def test_a_slice_of_a_row_has_its_type_and_names() -> None:
    class Own(nn.Sequential):
        pass

    row = Own(OrderedDict(a=nn.ReLU(), b=nn.Tanh(), c=nn.Identity()))
    part = row[1:]
    assert type(part) is Own
    assert list(dict(part.named_children())) == ["b", "c"]
    del row[0]
    assert list(dict(row.named_children())) == ["b", "c"]


def test_lists_are_changed_like_lists_and_print_equal_modules_once() -> None:
    layers = nn.ModuleList([nn.ReLU()])
    layers += [nn.ReLU(), nn.Linear(1, 1)]
    layers.insert(0, nn.ReLU())
    assert repr(layers) == (
        "ModuleList(\n  (0-2): 3 x ReLU()\n  (3): Linear(in_features=1, out_features=1, bias=True)\n)"
    )
    assert kinds(layers.__add__([nn.Tanh()])) == ["ReLU", "ReLU", "ReLU", "Linear", "Tanh"]
    assert type(layers.pop(3)).__name__ == "Linear"
    assert kinds(layers[:2]) == ["ReLU", "ReLU"] and isinstance(layers[:2], nn.ModuleList)
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_modules_by_key() -> None:
    acts = nn.ModuleDict([("relu", nn.ReLU()), ("linear", nn.Linear(1, 1))])
    acts["tanh"] = nn.Tanh()
    assert list(acts) == list(acts.keys()) == ["relu", "linear", "tanh"]
    assert kinds(acts.values()) == ["ReLU", "Linear", "Tanh"]
    assert dict(acts.items())["tanh"] is acts["tanh"]
    assert "relu" in acts and "other" not in acts and len(acts) == 3
    assert list(acts.state_dict()) == ["linear.weight", "linear.bias"]
    assert type(acts.pop("relu")).__name__ == "ReLU"
    acts.update(nn.ModuleDict({"last": nn.ReLU()}))
    del acts["tanh"]
    assert list(acts) == ["linear", "last"]
    acts.clear()
    assert len(acts) == 0


def test_parameters_in_a_list() -> None:
    values = nn.ParameterList([wb.zeros(N=2), "text"])
    values.append(nn.Parameter(wb.ones(1)))
    values += [wb.ones(3)]
    assert [name for name, _ in values.named_parameters()] == ["0", "2", "3"]
    assert values[0].names == ("N",) and isinstance(values[0], nn.Parameter)
    values[1] = wb.ones(2)
    assert len(list(values.parameters())) == len(values) == 4
    assert values[-1] is values[3] and len(values[1:3]) == 2
    values[0] = "other"
    assert {name for name, _ in values.named_parameters()} == {"1", "2", "3"}
    assert "(0): Object of type: str" in repr(values)


def test_parameters_by_key() -> None:
    values = nn.ParameterDict({"b": wb.zeros(2), "a": wb.ones(1)})
    assert list(values) == ["a", "b"]
    values["c"] = wb.zeros(3)
    assert values.setdefault("a", None) is values["a"]
    assert values.get("x", 5) == 5
    assert list(values | nn.ParameterDict({"d": wb.zeros(1)})) == ["a", "b", "c", "d"]
    assert list({"d": wb.zeros(1)} | values) == ["d", "a", "b", "c"]
    assert values.popitem()[0] == "c"
    assert list(reversed(values)) == ["b", "a"]
    assert values.pop("b").shape == (2,)
    values |= {"e": wb.zeros(1)}
    assert list(values.state_dict()) == ["a", "e"]
    assert list(values.fromkeys(["x", "y"], 0).values()) == [0, 0]
    assert list(values.copy().keys()) == ["a", "e"]
    values.clear()
    assert not values.items()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda: nn.Sequential(nn.ReLU()) + 3, ValueError, "supports only objects of Sequential class"),
        (lambda: nn.Sequential(nn.ReLU()) * 0, ValueError, "Non-positive multiplication factor 0"),
        (lambda: nn.Sequential(nn.ReLU()) * 1.5, TypeError, "repeated a whole number"),
        (lambda: nn.Sequential().insert(3, nn.ReLU()), IndexError, "Index out of range: 3"),
        (lambda: nn.Sequential().insert(0, 3), TypeError, "int is not a Module subclass"),
        (
            lambda: nn.Sequential([nn.ReLU()]),
            TypeError,
            "list is not a Module subclass: give them one by one, Sequential(",
        ),
        (lambda: nn.ModuleList().extend(3), TypeError, "with an iterable of modules, but got int"),
        (lambda: nn.ModuleList([nn.ReLU()]).pop(4), IndexError, "index 4 is out of range"),
        (lambda: nn.ModuleDict({"relu": nn.ReLU()})["rely"], KeyError, "Did you mean 'relu'?"),
        (lambda: nn.ModuleDict({"pop": nn.ReLU()}), KeyError, "attribute 'pop' already exists"),
        (lambda: nn.ModuleDict([("a",)]), ValueError, "element #0 has length 1; 2 is required"),
        (lambda: nn.ModuleDict([3]), TypeError, "element #0 should be Iterable; is int"),
        (lambda: nn.ModuleDict(3), TypeError, "iterable of key/value pairs, but got int"),
        (lambda: nn.ParameterDict({"copy": wb.ones(1)}), KeyError, "attribute 'copy' already exists"),
        (lambda: nn.ParameterDict([(3, wb.ones(1))]), TypeError, "is a string, got int"),
        (lambda: nn.ParameterDict().popitem(), KeyError, "is empty"),
        (lambda: nn.ParameterList(wb.ones(2)), TypeError, "iterable, but got Tensor"),
        (lambda: nn.ParameterList([1])[1], IndexError, "index 1 is out of range"),
        (lambda: nn.ParameterList()(1), RuntimeError, "ParameterList should not be called"),
    ],
)
def test_what_cannot_be_held_is_refused(change: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        change()
    assert message in str(caught.value)


def test_a_list_that_is_extended_by_something_else_stays_as_it_was() -> None:
    layers = nn.ModuleList([nn.ReLU()])
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        layers.extend([nn.ReLU(), 3])
    assert len(layers) == 1


def test_a_module_can_be_put_at_the_end_of_a_row() -> None:
    row = nn.Sequential(nn.ReLU())
    row.insert(1, nn.Tanh())
    assert [type(one).__name__ for one in row] == ["ReLU", "Tanh"]
