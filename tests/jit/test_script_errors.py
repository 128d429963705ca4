"""What cannot be scripted is refused at its own line, with what to write instead."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import workbench as wb
from workbench import Tensor, nn

table = wb.ones(3)


def refused(function: Any) -> str:
    with pytest.raises(wb.jit.ScriptError) as caught:
        wb.jit.script(function)
    return str(caught.value)


def test_an_error_has_the_file_the_line_and_a_caret() -> None:
    def trying(x: Tensor) -> Tensor:
        try:
            return x + 1
        except ValueError:
            return x

    lines = refused(trying).splitlines()
    number = trying.__code__.co_firstlineno + 1
    assert lines[0] == "try blocks aren't supported. Ask before, with `if`, what would be caught"
    assert lines[1] == f'  File "{__file__}", line {number}, column 9'
    assert lines[2:4] == ["        try:", "        ^^^^"]


def lambdas(x: int) -> int:
    f = lambda y: y
    return f(x)


def generator(x: list[int]) -> int:
    yield x[0]


def walrus(x: int) -> int:
    if (y := x) > 0:
        return y
    return 0


def sets(x: int) -> int:
    return len({x})


def variable(*x: int) -> int:
    return x[0]


def keywords(**x: int) -> int:
    return x["a"]


def recursive(x: int) -> int:
    return 1 if x == 0 else x * recursive(x - 1)


def one_branch(x: int) -> int:
    if x > 0:
        y = 1
    return y


def two_types(x: int) -> int:
    if x > 0:
        y = 1
    else:
        y = "a"
    return len(y)


def in_a_loop(n: int) -> int:
    for i in range(n):
        y = i
    return y


def changing(n: int) -> int:
    x = 1
    for _ in range(n):
        x = "a"  # noqa: F841
    return 1


def changing_none(n: int) -> int | None:
    x = None
    for i in range(n):
        x = i
    return x


def two_results(x: int):
    if x > 0:
        return 1
    return "a"


def no_result(x: int) -> int:
    if x > 0:
        return 1


def outside(x: Tensor) -> Tensor:
    return x + table


def undefined(x: Tensor) -> Tensor:
    return x + nowhere  # noqa: F821


def maybe_none(x: Tensor | None) -> Tensor:
    return x + 1


def several(x: int | str) -> int:
    return x + 1


def mixed_list(x: int) -> int:
    return len([x, "a"])


def wrong_item(x: int) -> list[Tensor]:
    xs = []
    xs.append(x)
    return xs


def wrong_argument(x: int) -> int:
    return helped("a")


def too_many(x: int) -> int:
    return helped(x, x)


def helped(x: int) -> int:
    return x


def no_method(x: Tensor) -> Tensor:
    return x.no_such_thing()


def no_text_method(x: str) -> str:
    return x.no_such_thing()


def unannotated(n) -> int:
    total = 0
    for i in range(n):
        total += i
    return total


def annotated_set(x: set) -> int:
    return 1


def with_blocks(x: Tensor) -> Tensor:
    with wb.enable_grad():
        return x + 1


def loop_else(n: int) -> int:
    for i in range(n):
        if i > 2:
            break
    else:
        return 1
    return 0


def python_only(x: Tensor) -> Tensor:
    return x * hash("a")


def wrong_arguments_of_an_op(x: Tensor) -> Tensor:
    return wb.relu(x, 1, 2, 3)


def calls_a_module(layer, x: Tensor):
    return layer(x)


def takes_a_module(layer: nn.Linear, x: Tensor) -> Tensor:
    return layer(x)


def several_items(t: dict[str, int]) -> int:
    return t.no


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambdas, "lambda functions aren't supported. Write it with def"),
        (generator, "yield aren't supported: a script is no generator. Append to a list, and return that"),
        (walrus, "named expressions, (name := value), aren't supported. Assign the name in a line before"),
        (sets, "sets aren't supported. Write a list, or a dict with values of no meaning"),
        (variable, "Compiled functions can't take variable number of arguments. Take a list"),
        (
            keywords,
            "Compiled functions can't take variable number of arguments or use keyword-only arguments",
        ),
        (
            recursive,
            "function 'recursive' is called recursively. Recursive calls are not supported. Write a loop",
        ),
        (
            one_branch,
            "y is not defined in the false branch, and it is read here. Give y a value of one type before",
        ),
        (
            two_types,
            "Type mismatch: y is set to type int in the true branch and type str in the false branch",
        ),
        (in_a_loop, "y is not defined before the loop, whose body may never run, and it is read here"),
        (changing, "Variable 'x' previously had type int but is now being assigned to a value of type str"),
        (changing_none, "Annotate it before the loop: x: Optional[int] = …"),
        (
            two_results,
            "and this return statement returns a value of type str. Annotate the result",
        ),
        (
            no_result,
            "no_result gives int, but does not return along all paths. Add a return at its end, or a raise",
        ),
        (
            outside,
            "python value of type 'Tensor' cannot be used as a value. It stands outside of the function",
        ),
        (undefined, "nowhere is not defined: nothing gives it a value before this"),
        (
            maybe_none,
            "operator add needs a value, and this is Optional[Tensor]. Ask `if name is not None:` before",
        ),
        (
            several,
            "operator add needs one type, and this is Union[int, str]. Ask `if isinstance(name, …):` before",
        ),
        (mixed_list, "a list has items of one type, and here are int, str. Write a tuple"),
        (
            wrong_item,
            "what is put into the list is Tensor, and this is int. Without an annotation it is a Tensor",
        ),
        (wrong_argument, "the argument x of helped is int, and this is str"),
        (too_many, "helped() takes 1 arguments, and here are 2"),
        (no_method, "'Tensor' object has no attribute or method 'no_such_thing'"),
        (no_text_method, "'str' object has no attribute or method 'no_such_thing' in a script"),
        (unannotated, "a number of range is int, and this is Tensor"),
        (annotated_set, "set is no type that a script has. Write Tensor, int, float, bool, str, a list"),
        (
            with_blocks,
            "with statements aren't supported, but for `with no_grad():`. Put it around the call",
        ),
        (loop_else, "else branches of loops aren't supported. Set a name before `break`, and ask it"),
        (
            python_only,
            "Python builtin hash is currently not supported in a script. Write what it does with tensors",
        ),
        (wrong_arguments_of_an_op, "relu: too many positional arguments. It takes (input"),
        (
            calls_a_module,
            "layer is Tensor, and cannot be called. An argument without an annotation is a Tensor; a module",
        ),
        (
            takes_a_module,
            "nn.Linear is a module, and no value of a run. A module is kept in the one that is scripted",
        ),
        (several_items, "a function is no value of a run. Call it"),
    ],
    ids=lambda one: getattr(one, "__name__", "")[:30],
)
def test_what_cannot_be_scripted_says_what_to_write(function: Any, words: str) -> None:
    text = refused(function)
    assert words in text
    assert f'File "{__file__}", line ' in text


def test_modules_that_cannot_be_scripted() -> None:
    class New(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            self.late = x
            return x

    assert (
        "Tried to set nonexistent attribute: late. Did you forget to initialize it in __init__()?"
        in refused(New())
    )

    class Empty(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.items = []

        def forward(self, x: Tensor) -> Tensor:
            self.items.append(x)
            return x

    assert "Annotate it in the class: items: List[Tensor]" in refused(Empty())

    class Missing(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * self.weight

    assert "Module 'Missing' has no attribute 'weight'. Give it one in __init__" in refused(Missing())

    class Nothing(nn.Module):
        pass

    assert "Nothing has no forward, and no method with @jit.export" in refused(Nothing())
    assert "cannot be compiled since it inherits from nn.Module: pass an instance of it" in refused(Nothing)
    assert "jit.script takes a function, a class or a module, and got int" in refused(3)


class Fields(NamedTuple):
    x: Tensor
    y: int = 2


def test_named_tuples_that_are_made_wrongly() -> None:
    def missing(n: int) -> Fields:
        return Fields(y=n)

    def wrong(x: Tensor) -> Fields:
        return Fields(x, "a")

    assert "Fields takes x, y, and x is not given" in refused(missing)
    assert "the field y of Fields is int, and this is str" in refused(wrong)


def test_a_run_refuses_arguments_of_other_types() -> None:
    made = wb.jit.script(helped)
    with pytest.raises(wb.DTypeError, match="x of helped is int, got str"):
        made("a")
    with pytest.raises(TypeError, match=r"takes 1 arguments \(x\), got 2"):
        made(1, 2)
