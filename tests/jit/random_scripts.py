"""Random programs in the part of Python that can be scripted, written out as text.

Every name has one type and is there before it is read, as scripts want it; numbers and lists stay small, and loops end.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

__all__ = ["program"]

_NAMES = {
    "int": ["i", "j", "k"],
    "float": ["u", "v"],
    "bool": ["p", "q"],
    "str": ["s", "t"],
    "List[int]": ["xs", "ys"],
    "Dict[str, int]": ["d"],
    "Optional[int]": ["o"],
    "Tensor": ["a", "b"],
}
_ARGUMENTS = {_NAMES[kind][0]: kind for kind in _NAMES}
_PLAIN = {
    "int": "3", "float": "1.5", "bool": "True", "str": "'ab'", "List[int]": "[1, 2]", "Dict[str, int]": "{'a': 1}",
    "Optional[int]": "None", "Tensor": "wb.ones(2)",
}  # fmt: skip
"""A value of each type."""
_RESULT = ("int", "str", "List[int]", "Tensor", "bool")


class _Writer:
    """One program as it is written."""

    def __init__(self, number: Callable[[int, int], int]) -> None:
        self.number = number
        """Chooses a number between two, both among them."""
        self.lines: list[str] = []
        self.counters = 0
        self.left = 26
        """How many statements may still come."""

    def pick(self, options):
        return options[self.number(0, len(options) - 1)]

    # ----------------------------------------------------------------------------------------- expressions

    def names(self, env: dict[str, str], kind: str) -> list[str]:
        return [name for name, one in env.items() if one == kind]

    def expression(self, env: dict[str, str], kind: str, depth: int = 2) -> str:
        names = self.names(env, kind)
        if names and (depth <= 0 or self.number(0, 2) == 0):
            return self.pick(names)
        if depth <= 0:
            return _PLAIN[kind]

        def sub(one: str) -> str:
            return self.expression(env, one, depth - 1)

        if self.number(0, 7) == 0:
            return f"({sub(kind)} if {sub('bool')} else {sub(kind)})" if kind != "Optional[int]" else "None"
        return getattr(self, f"_{kind.partition('[')[0].lower()}")(env, sub)

    def _int(self, env, sub) -> str:
        one, other, xs, text = sub("int"), sub("int"), sub("List[int]"), sub("str")
        some = [f"(len({one}))" for one in self.names(env, "List[int]")]
        known = [name for name, kind in env.items() if kind == "known int"]
        return self.pick(
            [
                *known,
                *some,
                str(self.number(-5, 5)),
                f"({one} + {other})",
                f"({one} - {other})",
                f"(({one} * {other}) % 97)",
                f"({one} // {other})",
                f"({one} % {other})",
                f"(-{one})",
                f"abs({one})",
                f"min({one}, {other})",
                f"max({one}, {other})",
                f"len({text})",
                f"int({sub('float')})",
                f"{xs}[{one}]",
                f"sum({xs})",
                f"({one} & {other})",
                f"({one} ^ {other})",
                f"{text}.find({sub('str')})",
                f"{sub('Dict[str, int]')}.get({text}, {one})",
                f"helper({one}, {other})",
                f"int({sub('Tensor')}.sum())",
                f"({one} ** 2 % 101)",
                f"{xs}.count({one})",
                f"ord({text}[{one}])",
            ]
        )

    def _float(self, env, sub) -> str:
        one, other = sub("float"), sub("float")
        return self.pick(
            [
                self.pick(["0.0", "0.5", "-1.25", "2.0"]),
                f"({one} + {other})",
                f"({one} - {sub('int')})",
                f"({one} / {other})",
                f"({one} // {other})",
                f"(({one} * {other}) % 11.0)",
                f"float({sub('int')})",
                f"({sub('int')} / {sub('int')})",
                f"abs({one})",
                f"math.floor({one}) * 0.5",
                f"float({sub('Tensor')}[0])",
                f"math.sqrt({one})",
                f"round({one}, 2)",
            ]
        )

    def _bool(self, env, sub) -> str:
        return self.pick(
            [
                f"({sub('int')} {self.pick(['<', '<=', '==', '!=', '>'])} {sub('int')})",
                f"({sub('bool')} and {sub('bool')})",
                f"({sub('bool')} or {sub('bool')})",
                f"(not {sub('bool')})",
                f"({sub('str')} in {sub('str')})",
                f"({sub('int')} in {sub('List[int]')})",
                f"({sub('float')} < {sub('float')})",
                "True",
                "False",
                f"({sub('int')} < {sub('int')} <= {sub('int')})",
                f"bool(({sub('Tensor')} > {sub('int')}).any())",
                f"({sub('str')} == {sub('str')})",
                f"({sub('str')} in {sub('Dict[str, int]')})",
                f"{sub('str')}.startswith({sub('str')})",
                f"any([z > 1 for z in {sub('List[int]')}])",
            ]
        )

    def _str(self, env, sub) -> str:
        one = sub("str")
        return self.pick(
            [
                f"({one} + {sub('str')})[:12]",
                f"{one}.upper()",
                f"{one}[::-1]",
                f"{one}[{sub('int')}]",
                f"str({sub('int')})",
                f"f'{{{sub('int')}}}:{{{sub('float')}:.2f}}'".replace("'ab'", '"ab"')
                if "'" not in sub("int")
                else one,
                f"'-'.join([str(z) for z in {sub('List[int]')}])[:9]",
                f"{one}.replace({sub('str')}, 'x')[:12]",
                f"'<{{}}>'.format({sub('int')})",
                f"{one}.strip('a')",
            ]
        )

    def _list(self, env, sub) -> str:
        one = sub("List[int]")
        return self.pick(
            [
                f"[{sub('int')}, {sub('int')}]",
                f"[z + {sub('int')} for z in {one}]",
                f"{one}[{sub('int')}:]",
                f"({one} + {one})[:6]",
                f"[z for z in range(4) if z != {sub('int')}]",
                f"sorted({one})",
                f"list(range({sub('int')} % 5))",
                f"[z * w % 97 for z, w in zip({one}, {sub('List[int]')})]",
                f"{one}[::-1]",
            ]
        )

    def _dict(self, env, sub) -> str:
        return self.pick(
            [
                f"{{{sub('str')}: {sub('int')}}}",
                f"{{str(z): z for z in {sub('List[int]')}}}",
                f"{sub('Dict[str, int]')}.copy()",
            ]
        )

    def _optional(self, env, sub) -> str:
        return self.pick(["None", sub("int")])

    def _tensor(self, env, sub) -> str:
        one = sub("Tensor")
        return self.pick(
            [
                f"({one} + {sub('Tensor')})",
                f"({one} * {sub('int')})",
                f"({one} - {sub('float')})",
                f"{one}.clone()",
                f"wb.relu({one})",
                f"(-{one})",
                f"{one}.clamp(-2, 2)",
                f"wb.stack([{one}, {one}]).mean(0)",
                f"wb.where({one} > 0, {one}, {sub('Tensor')})",
                f"({one} % 3.0)",
                f"wb.tensor([{sub('float')}, 1.0])",
            ]
        )

    # ------------------------------------------------------------------------------------------ statements

    def block(self, env: dict[str, str], indent: int, loop: bool, depth: int) -> bool:
        """Write a block; say whether it goes on behind it."""
        self.put(indent, "pass")
        return all(self.statement(env, indent, loop, depth) for _ in range(self.number(1, 4)))

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def statement(self, env: dict[str, str], indent: int, loop: bool, depth: int) -> bool:
        self.left -= 1
        kinds = (
            ["assign"] * 4
            + ["augment"] * 2
            + ["change"] * 2
            + ["unpack", "optional", "assert", "in_place", "nothing"]
        )
        if depth > 0 and self.left > 0:
            kinds += ["if"] * 4 + ["for"] * 2 + ["items", "while", "guard"]
        if loop:
            kinds += ["leave"] * 2
        return getattr(self, f"_write_{self.pick(kinds)}")(env, indent, loop, depth) is not False

    def _write_nothing(self, env, indent, loop, depth) -> None:
        self.put(indent, "pass")

    def _write_assign(self, env, indent, loop, depth) -> None:
        kind = self.pick(list(_NAMES))
        name = self.pick(_NAMES[kind])
        value = self.expression(env, kind)
        if name == "o" and env["o"] == "int":
            # Known to be no None here: what is around goes on taking it for one.
            value = self.expression(env, "int")
        if name in env:
            self.put(indent, f"{name} = {value}")
        else:
            self.put(indent, f"{name}: {kind} = {value}")
        env.setdefault(name, kind)

    def _write_augment(self, env, indent, loop, depth) -> None:
        kind = self.pick(["int", "float", "str", "Tensor", "List[int]"])
        names = self.names(env, kind)
        if not names:
            return self.put(indent, "pass")
        name = self.pick(names)
        if kind == "str":
            return self.put(indent, f"{name} += {self.expression(env, 'str', 1)}[:3]")
        if kind == "List[int]":
            # A list that is added to itself in loops inside loops would fill all memory.
            return self.put(indent, f"{name} += {self.expression(env, kind, 1)}[:3]")
        return self.put(indent, f"{name} {self.pick(['+=', '-='])} {self.expression(env, kind, 1)}")

    def _write_change(self, env, indent, loop, depth) -> None:
        for kind in self.pick([["List[int]", "Dict[str, int]"], ["Dict[str, int]", "List[int]"]]):
            names = self.names(env, kind)
            if names:
                break
        name, one = self.pick(names), self.expression(env, "int", 1)
        if kind == "List[int]":
            options = [
                f"{name}.append({one})",
                f"{name}[{one}] = {self.expression(env, 'int', 1)}",
                f"{name}.insert(0, {one})",
                f"{name}.reverse()",
                f"{name}.sort()",
                f"del {name}[{one}]",
                f"{name}.pop()",
                f"{name}[0] += {one}",
            ]
            if indent == 1:
                options.append(f"ys: List[int] = {name}")
                env["ys"] = "List[int]"
                self.put(indent, options[-1])
                return
        else:
            key = self.expression(env, "str", 1)
            options = [
                f"{name}[{key}] = {one}",
                f"{name}[{key}] += {one}",
                f"{name}.update({{{key}: {one}}})",
                f"{name}.pop({key})",
            ]
        self.put(indent, self.pick(options))

    def _write_unpack(self, env, indent, loop, depth) -> None:
        first, second = (self.expression(env, "int", 1) for _ in range(2))
        if "i" in env and "j" in env:
            self.put(indent, f"i, j = {first}, {second}")

    def _write_in_place(self, env, indent, loop, depth) -> None:
        names = self.names(env, "Tensor")
        name = self.pick(names)
        self.put(
            indent,
            self.pick(
                [
                    f"{name}[0] = {self.expression(env, 'float', 1)}",
                    f"{name}.add_({self.expression(env, 'int', 1)})",
                    f"{name}.mul_(2)",
                    f"{name}[1:].sub_(1)",
                ]
            ),
        )

    def _write_optional(self, env, indent, loop, depth) -> None:
        self.put(indent, f"if o is {self.pick(['', 'not '])}None:")
        negated = self.lines[-1].endswith("not None:")
        inner, other = dict(env), dict(env)
        (inner if negated else other)["o"] = "int"
        self.block(inner, indent + 1, loop, 0)
        self.put(indent, "else:")
        self.block(other, indent + 1, loop, 0)

    def _write_assert(self, env, indent, loop, depth) -> None:
        self.put(
            indent, f"assert {self.expression(env, 'bool', 1)} or {self.expression(env, 'bool', 1)}, 'told'"
        )

    def _write_guard(self, env, indent, loop, depth):
        self.put(indent, f"if {self.expression(env, 'bool')}:")
        if self.number(0, 1):
            self._write_return(env, indent + 1)
        else:
            self.put(indent + 1, f"raise {self.pick(['ValueError', 'RuntimeError', 'KeyError'])}('said')")

    def _write_if(self, env, indent, loop, depth):
        self.put(indent, f"if {self.expression(env, 'bool')}:")
        flows = [self.block(dict(env), indent + 1, loop, depth - 1)]
        if self.number(0, 1):
            self.put(indent, f"elif {self.expression(env, 'bool')}:")
            self.block(dict(env), indent + 1, loop, depth - 1)
        if self.number(0, 1):
            self.put(indent, "else:")
            flows.append(self.block(dict(env), indent + 1, loop, depth - 1))
            if not any(flows) and len(flows) == 2:
                self.put(indent, "pass")

    def _write_for(self, env, indent, loop, depth):
        over = self.pick(
            [
                f"range({self.expression(env, 'int', 1)} % 4)",
                f"{self.expression(env, 'List[int]', 1)}[:4]",
                "range(3, 0, -1)",
                f"enumerate({self.expression(env, 'List[int]', 1)}[:3])",
            ]
        )
        self._turns(
            env,
            indent,
            depth,
            f"{{0}}, m{self.counters + 1}" if over.startswith("enumerate") else "{0}",
            over,
        )

    def _write_items(self, env, indent, loop, depth):
        over = f"{self.expression(env, 'Dict[str, int]', 1)}.copy().items()"
        self._turns(env, indent, depth, "{0}s, {0}", over)

    def _turns(self, env, indent, depth, target: str, over: str) -> None:
        name = self._counter("n")
        self.put(indent, f"for {target.format(name)} in {over}:")
        self._body(env, indent, name, depth)

    def _counter(self, letter: str) -> str:
        self.counters += 1
        return f"{letter}{self.counters}"

    def _body(self, env, indent, name: str, depth) -> None:
        self.block({**env, name: "known int"}, indent + 1, True, depth - 1)

    def _write_while(self, env, indent, loop, depth):
        name = self._counter("w")
        self.put(indent, f"{name} = 0")
        self.put(indent, f"while {name} < {self.number(1, 4)} and {self.expression(env, 'bool', 1)}:")
        self.put(indent + 1, f"{name} += 1")
        self._body(env, indent, name, depth)

    def _write_leave(self, env, indent, loop, depth):
        self.put(indent, f"if {self.expression(env, 'bool', 1)}:")
        if self.number(0, 3) == 0:
            self._write_return(env, indent + 1)
        else:
            self.put(indent + 1, self.pick(["break", "continue"]))

    def _write_return(self, env, indent) -> None:
        self.put(indent, f"return {', '.join(self.expression(env, kind, 1) for kind in _RESULT)}")

    def program(self) -> str:
        env = dict(_ARGUMENTS)
        arguments = ", ".join(f"{name}: {kind}" for name, kind in env.items())
        self.put(0, f"def program({arguments}) -> Tuple[{', '.join(_RESULT)}]:")
        for _ in range(self.number(2, 7)):
            self.statement(env, 1, False, 3)
        self._write_return(env, 1)
        return "\n".join([_HEAD, *self.lines, ""])


_HEAD = """import math
from typing import Dict, List, Optional, Tuple

import workbench as wb
from workbench import Tensor


def helper(x: int, y: int) -> int:
    if x > y:
        return x - y
    for z in range(y % 4):
        if z == x:
            return z
    return y


"""


def program(random: Random) -> str:
    """Return the text of a program."""
    return _Writer(random.randint).program()
