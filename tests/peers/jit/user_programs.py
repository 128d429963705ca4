"""Scripts as people write them: each runs in TorchScript, in ours and as plain Python.

``CASES`` has what each is called with; modules are made first. ``DIFFERS`` says where PyTorch gives something else than
Python, and we do not; ``WIDER`` what TorchScript refuses and we take. The file is read as it is for PyTorch, and with `torch` meaning the workbench for ours.
"""

# ruff: noqa  as people write programs for TorchScript

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LIMIT = 4
SCALE = 2.5
NAMES = ("a", "b")
EMPTY: List[int] = []


class Mode(Enum):
    MEAN = "mean"
    SUM = "sum"


class Box(NamedTuple):
    x: float
    y: float
    label: str = "none"


@torch.jit.script
@dataclass
class Limits:
    low: float
    high: float = 1.0

    def width(self) -> float:
        return self.high - self.low


@torch.jit.script
class Stack:
    """A class with methods, properties and a static method."""

    def __init__(self, size: int = 2):
        self.items: List[int] = []
        self.size = size

    def push(self, x: int) -> bool:
        if len(self.items) >= self.size:
            return False
        self.items.append(x)
        return True

    def top(self) -> Optional[int]:
        if len(self.items) == 0:
            return None
        return self.items[-1]

    @property
    def full(self) -> bool:
        return len(self.items) == self.size

    @staticmethod
    def twice(x: int) -> int:
        return x * 2

    def __contains__(self, x: int) -> bool:
        return x in self.items


@torch.jit.interface
class Scaler(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Doubled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Added(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


# ------------------------------------------------------------------------------------------------- functions


def typed_containers(n: int) -> Dict[str, List[Tuple[int, float]]]:
    found: Dict[str, List[Tuple[int, float]]] = {}
    for i in range(n):
        key = "even" if i % 2 == 0 else "odd"
        if key not in found:
            found[key] = []
        found[key].append((i, i / 2))
    return found


def refined(x: Optional[Tensor], y: Optional[int] = None) -> Tensor:
    if x is None:
        return torch.zeros(2)
    if y is not None and y > 1:
        return x * y
    z = y
    if z is None:
        z = 7
    return x + z


def refined_loop(xs: List[Optional[int]]) -> int:
    total = 0
    for x in xs:
        if x is not None:
            total += x
    return total


def refined_by_continue(xs: List[Optional[int]]) -> int:
    total = 0
    for x in xs:
        if x is None:
            continue
        total += x
    return total


def boxes(n: int) -> Tuple[float, str]:
    found: List[Box] = []
    for i in range(n):
        found.append(Box(float(i), y=i * 0.5))
    found.append(Box(1.0, 2.0, "last"))
    area = 0.0
    for box in found:
        area += box.x * box.y
    return area, found[-1].label


def modes(x: Tensor, mode: Mode) -> Tensor:
    if mode == Mode.MEAN:
        return x.mean()
    elif mode is Mode.SUM:
        return x.sum()
    return x


def mode_names(mode: Mode) -> str:
    return mode.name + "/" + mode.value


def texts(n: int, x: float, s: str) -> List[str]:
    return [
        f"{n}: {s}",
        f"{n + 1}{s}",
        "{} {}".format(n, s),
        "{0}-{1}-{0}".format(s, n),
        "%s and %d" % (s, n) + "%d%%" % n,
        str(n) + s,
    ]


def repeated(s: str, n: int) -> str:
    return s * n + n * "-"


def comprehensions(xs: List[int], words: List[str]) -> Tuple[List[int], List[int], Dict[str, int]]:
    return [x + 1 for x in xs] + [i * i for i in xs], [len(w) for w in words], {w: len(w) for w in words}


def chosen_items(xs: List[int]) -> List[int]:
    return [x + 1 for x in xs if x > 1] + [i * i for i in range(len(xs))]


def early_return(x: int) -> str:
    if x > 10:
        return "big"
    for i in range(x):
        if i * i > x:
            return "found " + str(i)
        while True:
            if i % 2 == 0:
                break
            return "odd " + str(i)
    return "none"


def loops(n: int) -> List[int]:
    out: List[int] = []
    i = 0
    while True:
        i += 1
        if i > n:
            break
        if i % 3 == 0:
            continue
        for j in range(i, 0, -2):
            if j == 2:
                continue
            out.append(j)
            if len(out) > 20:
                break
    return out


def checked(x: Tensor, n: int) -> Tensor:
    assert n >= 0, f"n is {n}"
    assert x.dim() == 1
    if n > 4:
        raise RuntimeError("n is too large: " + str(n))
    return x[:n]


def closed(n: int) -> int:
    def inner(a: int) -> int:
        return a + 1

    return inner(inner(n))


def constants(x: Tensor) -> Tensor:
    return x * SCALE + LIMIT + math.pi + (1.0 if "a" in NAMES else 0.0)


def infinities(x: float) -> Tuple[bool, bool, float]:
    best = -float("inf")
    if x > best:
        best = x
    return math.isinf(float("inf")), math.isnan(float("nan")), best


def annotated(n: int) -> Tuple[List[Tensor], Dict[int, str], Optional[int]]:
    xs = torch.jit.annotate(List[Tensor], [])
    d = torch.jit.annotate(Dict[int, str], {})
    o = torch.jit.annotate(Optional[int], None)
    for i in range(n):
        xs.append(torch.full((1,), float(i)))
        d[i] = str(i)
        o = i
    return xs, d, o


def instances(x: Union[int, float, List[int], str]) -> str:
    if isinstance(x, (int, float)):
        return "number"
    if isinstance(x, str):
        return x + "!"
    return "list of " + str(len(x))


def compared(a: int, b: float, s: str) -> List[bool]:
    return [
        0 < a <= 10 < b + 20,
        a == b,
        a != 3 and b < a or s == "x",
        s < "m",
        not s,
        s != "x",
        a in [1, 2, 3],
        s in ["x", "y"],
        [a] == [3],
        a is not None,
    ]


def compared_tuples(a: int, s: str) -> bool:
    return (a, s) == (3, "x")


def slices(xs: List[int], s: str, x: Tensor) -> Tuple[List[int], List[int], List[int], str, Tensor]:
    t = (1, "b", 2.5)
    return xs[::2], xs[-3:-1], xs[::-1], s[1::2] + s[:-1] + s[-2:], x[::2, 1:] + x[-1, -1] + t[2] * len(t[:2])


def star(xs: List[int], x: Tensor) -> Tensor:
    y = x.view(xs[0], *xs[1:]) if False else x.view(xs)
    return y.permute(1, 0).reshape([-1])


def iterated(xs: List[int], ys: List[str], d: Dict[str, int]) -> List[str]:
    out: List[str] = []
    for i, (x, y) in enumerate(zip(xs, ys), 1):
        out.append(str(i * x) + y)
    for k, v in d.items():
        out.append(k + str(v))
    for k in d:
        out.append(k)
    for c in "ab":
        out.append(c)
    return out


def backwards(n: int, xs: List[int]) -> List[int]:
    out: List[int] = []
    for i in reversed(range(n)):
        out.append(i)
    for x in reversed(xs):
        out.append(x)
    return out


def text_methods(s: str) -> List[str]:
    return [
        s.upper(),
        s.lower(),
        s.strip(),
        s.lstrip("x"),
        s.replace("a", "bb"),
        s.capitalize(),
        s.title(),
        s.swapcase(),
        s.center(12, "*"),
        s.ljust(10) + "|",
        s.rjust(10),
        s.zfill(9),
        "-".join(s.split()),
        "".join(s.split(",")),
        s.expandtabs(4),
        s.rstrip(),
        s.partition(" ")[2],
        s.rpartition(" ")[0],
        ",".join(s.splitlines()),
        ";".join(s.rsplit(" ", 1)),
    ]


def text_questions(s: str) -> List[bool]:
    return [
        s.startswith("a"),
        s.endswith("c"),
        s.isdigit(),
        s.isalpha(),
        s.isupper(),
        s.islower(),
        s.isspace(),
        s.isalnum(),
        s.find("b") == 1,
        s.rfind("b") == 1,
        s.count("b") == 1,
        s.istitle(),
        s.isidentifier(),
        s.isdecimal(),
        s.isnumeric(),
        "b" in s,
    ]


def dict_methods(d: Dict[str, int]) -> Tuple[List[str], List[int], int, int, int]:
    e = d.copy()
    e["new"] = 5
    got = e.get("new", 0) + e.get("absent", 100)
    popped = e.pop("new")
    e.update({"x": 9})
    first = e.setdefault("y", 4)
    del e["x"]
    keys = list(e.keys())
    values = list(e.values())
    e.clear()
    return keys, values, got + popped, first, len(e)


def dict_get(d: Dict[str, int], key: str) -> Optional[int]:
    return d.get(key)


def int_semantics(a: int, b: int) -> List[int]:
    q, r = divmod(a, b)
    return [
        a // b,
        a % b,
        q,
        r,
        -a // b,
        abs(a),
        a & b,
        a | b,
        a ^ b,
        a << 2,
        a >> 1,
        min(a, b),
        max(a, b),
        int(round(a / b)),
        int(a / b),
    ]


def powers(a: int) -> List[int]:
    return [a**2, ~a, max(a, 1, 3)]


def float_semantics(x: float, y: float) -> List[float]:
    return [
        x / y,
        x // y,
        x % y,
        x**y,
        abs(x),
        float(round(x)),
        round(x * 100) / 100,
        float(int(x)),
        min(x, y),
        max(x, y),
        math.floor(x) * 1.0,
        math.ceil(x) * 1.0,
        math.sqrt(abs(x)),
        math.exp(-abs(x)),
        math.copysign(x, y),
        math.fmod(x, y),
        math.degrees(x),
    ]


def conversions(s: str, x: float, n: int, flag: bool) -> Tuple[int, float, bool, bool, int, float, str]:
    return int(s), float(s), bool(n), bool(x), int(flag) + int(x), float(flag) + n, str(n) + str(flag)


def mixed_numbers(n: int, x: float, flag: bool) -> Tuple[float, int, float]:
    y = x
    y += n
    total = 0
    for i in range(n):
        total += 1 if flag else 2
    return y * n, total, n * 1.0 / 3


def list_methods(xs: List[int], words: List[str]) -> Tuple[List[int], List[str], int, bool, List[int]]:
    ys = xs.copy()
    ys.sort(reverse=True)
    ys.insert(1, 100)
    ys.remove(100)
    ys.extend(xs)
    ys += [1]
    popped = ys.pop(0)
    zs = sorted(ys)
    words.sort()
    ys.reverse()
    del ys[0]
    return ys, words, popped + ys.count(1) + ys.index(1), xs == ys, zs * 2


def nested_lists(n: int) -> Tuple[List[List[int]], int]:
    grid = [[i * j for j in range(n)] for i in range(n)]
    grid[0][1] = 7
    row = grid[1]
    row.append(5)
    total = 0
    for r in grid:
        for v in r:
            total += v
    return grid, total


def sums(xs: List[int], ys: List[float], flags: List[bool]) -> Tuple[int, float, bool, bool, int, float]:
    return sum(xs), sum(ys), any(flags), all(flags), max(xs), min(ys)


def tensors_in_dict(xs: Dict[str, Tensor]) -> Tensor:
    out: List[Tensor] = []
    for name, x in sorted(xs.items()) if False else xs.items():
        if "w" in name:
            out.append(x.flatten())
    return torch.cat(out)


def tensor_words(x: Tensor) -> Tuple[int, bool, str, Tensor, List[int]]:
    y = x.new_zeros(x.size(0), 2)
    y[:, 0] = x[:, 0]
    y[y == 0] = -1.0
    same = y.dtype == torch.float32 and not y.is_cuda and y.requires_grad == x.requires_grad
    return x.numel() + x.ndim, same, str(x.device), torch.where(y > 0, y, -y).T, list(x.shape)


def tuple_results(x: Tensor) -> Tuple[Tensor, Tuple[int, int]]:
    values, indices = torch.sort(x, dim=0, descending=True)
    (a, b), c = (x.size(0), x.size(1)), indices
    top = torch.topk(values[:, 0], k=2)
    return top.values + c[0, 0], (a, b)


def with_no_grad(x: Tensor) -> Tuple[Tensor, bool]:
    with torch.no_grad():
        y = x * 2
    return y, y.requires_grad


def keyword_only(x: Tensor, *, scale: float = 2.0, shift: int = 1) -> Tensor:
    return x * scale + shift


def calling(x: Tensor) -> Tensor:
    return keyword_only(x, shift=3) + keyword_only(x, scale=0.5)


def recursion_free(n: int) -> int:
    a, b = 0, 1
    while n > 0:
        a, b, n = b, a + b, n - 1
    return a


def stacks(n: int) -> Tuple[List[int], bool, int, bool]:
    s = Stack(3)
    for i in range(n):
        if not s.push(i):
            break
    top = s.top()
    t = 0
    if top is not None:
        t = top
    return s.items, s.full, Stack.twice(t), 1 in s


def limits(x: Tensor, low: float) -> Tensor:
    l = Limits(low)
    m = Limits(low, high=3.0)
    return x.clamp(l.low, l.high) * m.width()


def while_else_flag(xs: List[int], wanted: int) -> int:
    found = -1
    i = 0
    while i < len(xs) and found < 0:
        if xs[i] == wanted:
            found = i
        i += 1
    return found


def shadowed(x: int) -> int:
    y = x
    for y in range(3):
        x += y
    z = 10
    if x > 3:
        z = x
    return y + z


def branches_of_types(flag: bool) -> Tuple[float, Optional[str]]:
    if flag:
        a = 1.5
        b: Optional[str] = "x"
    else:
        a = 2.0
        b = None
    return a, b


def empty_containers(n: int) -> Tuple[List[str], Dict[str, Tensor], List[List[int]]]:
    a: List[str] = []
    b: Dict[str, Tensor] = {}
    c: List[List[int]] = []
    if n > 0:
        a.append("x")
        b["x"] = torch.ones(1)
        c.append([n])
    return a, b, c


def empty_items(n: int) -> List[List[int]]:
    c: List[List[int]] = []
    for i in range(n):
        c.append([])
        c[-1].append(i)
    return c


def einsum_and_shapes(x: Tensor, y: Tensor) -> Tensor:
    n, m = x.shape
    k = y.shape[-1]
    z = torch.einsum("ij,jk->ik", x, y)
    assert z.shape == (n, k)
    return z.view(n * k).unsqueeze(0).expand(m, -1)


def device_and_dtype(
    x: Tensor, dtype: Optional[torch.dtype] = None, device: Optional[torch.device] = None
) -> Tensor:
    if dtype is None:
        dtype = x.dtype
    return torch.arange(3, dtype=dtype, device=x.device if device is None else device) + x


# --------------------------------------------------------------------------------------------------- modules


class Blocks(nn.Module):
    """Lists, dicts and sequences of modules, in loops."""

    eps: Final[float]
    __constants__ = ["width"]

    def __init__(self):
        super().__init__()
        self.eps = 0.5
        self.width = 2
        self.names = ["a", "b"]
        self.blocks = nn.ModuleList([Doubled(), Added(), Doubled()])
        self.heads = nn.ModuleDict({"one": Added(), "two": Doubled()})
        self.tail = nn.Sequential(Added(), nn.ReLU())
        self.extra: Optional[nn.Module] = None

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        for i, block in enumerate(self.blocks):
            x = block(x) + i
        for block in self.blocks[1:]:
            x = block(x)
        out: Dict[str, Tensor] = {}
        for name, head in self.heads.items():
            out[name] = head(x) + self.eps
        for name in self.heads:
            out[name + "/"] = out[name] * self.width
        for part in self.tail:
            x = part(x)
        if self.extra is not None:
            x = self.extra(x)
        out["tail"] = self.tail(x) + len(self.blocks) + len(self.names)
        return out


class Exported(nn.Module):
    """Methods that are exported, ignored and not used; properties; the mode."""

    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.calls: int = 0
        self.cache = {}
        self.register_buffer("seen", torch.zeros(2))
        self.act: Callable[[Tensor], Tensor] = F.relu

    @property
    def count(self) -> int:
        return self.calls * 10

    @torch.jit.export
    def reset(self, n: int = 0) -> int:
        before = self.calls
        self.calls = n
        return before

    @torch.jit.unused
    def never(self, x: Tensor) -> Tensor:
        return x.apply_(lambda v: v)

    @torch.jit.ignore
    def outside(self, n: int) -> int:
        return int("1" * n)

    def _helper(self, x: Tensor, n: int = 2) -> Tensor:
        return x * n

    def forward(self, x: Tensor) -> Tuple[Tensor, int]:
        self.calls += 1
        self.seen += x
        if self.training:
            x = self._helper(x, n=3)
        else:
            x = self._helper(x)
        if self.calls > 100:
            x = self.never(x)
        self.cache["last"] = x
        return self.act(x) + self.seen, self.count + self.outside(2)


class Cached(nn.Module):
    """What attributes are, said where they are made."""

    def __init__(self):
        super().__init__()
        self.cache: Dict[str, Tensor] = {}
        self.last: Optional[Tensor] = None

    def forward(self, x: Tensor) -> Tensor:
        last = self.last
        if last is not None:
            x = x + last
        self.last = x
        self.cache["x"] = x
        return x * len(self.cache)


class Chosen(nn.Module):
    """A module behind an interface."""

    part: Scaler

    def __init__(self):
        super().__init__()
        self.part = Doubled()

    def forward(self, x: Tensor) -> Tensor:
        return self.part.forward(x)


class Gated(nn.Module):
    """Optional parts and parameters, as libraries have them."""

    bias: Optional[Tensor]

    def __init__(self, bias: bool = False):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2) / 4)
        if bias:
            self.bias = nn.Parameter(torch.zeros(2))
        else:
            self.register_parameter("bias", None)
        self.drop = nn.Dropout(0.5) if bias else None
        self.norm = nn.LayerNorm(2)

    def forward(
        self, x: Tensor, mask: Optional[Tensor] = None, state: Optional[Tuple[Tensor, Tensor]] = None
    ) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        y = F.linear(x, self.weight, self.bias)
        if self.drop is not None:
            y = self.drop(y)
        if mask is not None:
            y = y.masked_fill(mask, float("-inf"))
            y = F.softmax(y, dim=-1)
        if state is None:
            zeros = torch.zeros_like(y)
            state = (zeros, zeros)
        h, c = state
        h = torch.tanh(y + h)
        return self.norm(h), (h, c + 1)


CASES = {
    "typed_containers": [(3,), (0,)],
    "refined": [(None,), (torch.ones(2), 3), (torch.ones(2), None), (torch.ones(2), 1)],
    "refined_loop": [([1, None, 3],), ([],)],
    "boxes": [(3,)],
    "modes": [(torch.ones(3), Mode.MEAN), (torch.ones(3), Mode.SUM)],
    "mode_names": [(Mode.SUM,)],
    "texts": [(3, 1.5, "ab")],
    "repeated": [("ab", 2), ("x", 0)],
    "chosen_items": [([1, 2, 3],)],
    "refined_by_continue": [([1, None, 3],), ([],)],
    "compared_tuples": [(3, "x"), (3, "y")],
    "backwards": [(3, [5, 6])],
    "powers": [(3,), (-2,)],
    "empty_items": [(0,), (2,)],
    "Cached": [(torch.ones(2),), (torch.ones(2),)],
    "comprehensions": [([1, 2, 3], ["a", "bcd"])],
    "early_return": [(11,), (0,), (3,), (10,)],
    "loops": [(0,), (7,), (20,)],
    "checked": [(torch.ones(6), 2), (torch.ones(6), -1), (torch.ones(6), 9), (torch.ones(6, 1), 1)],
    "closed": [(3,)],
    "constants": [(torch.ones(2),)],
    "infinities": [(1.5,)],
    "annotated": [(2,), (0,)],
    "instances": [(3,), (2.5,), ("ab",), ([1, 2],)],
    "compared": [(3, 3.0, "x"), (20, 1.0, "")],
    "slices": [([1, 2, 3, 4, 5], "abcdef", torch.arange(12.0).view(4, 3))],
    "star": [([2, 3], torch.arange(6))],
    "iterated": [([1, 2, 3], ["x", "y", "z"], {"k": 1, "l": 2})],
    "text_methods": [("xab cA,d e",), (" tab\tline\nend  ",)],
    "text_questions": [("abc",), ("123",), ("Abc",), (" ",), ("",)],
    "dict_methods": [({"a": 1, "b": 2},)],
    "dict_get": [({"a": 1}, "a"), ({"a": 1}, "b")],
    "int_semantics": [(7, 2), (-7, 2), (7, -2), (5, 3)],
    "float_semantics": [(7.5, 2.0), (2.5, 0.5), (3.5, 1.25)],
    "conversions": [("12", 2.9, 3, True), ("7", 0.0, 0, False)],
    "mixed_numbers": [(3, 0.5, True), (4, -1.5, False)],
    "list_methods": [([3, 1, 2], ["b", "a"])],
    "nested_lists": [(3,)],
    "sums": [([1, 2, 3], [0.5, -1.5], [True, False])],
    "tensors_in_dict": [({"w1": torch.ones(2, 2), "b": torch.zeros(1), "w2": torch.zeros(3)},)],
    "tensor_words": [(torch.arange(6.0).view(3, 2),)],
    "tuple_results": [(torch.tensor([[1.0, 5.0], [3.0, 2.0], [2.0, 9.0]]),)],
    "with_no_grad": [(torch.ones(2, requires_grad=True),)],
    "calling": [(torch.ones(2),)],
    "recursion_free": [(10,)],
    "stacks": [(0,), (2,), (5,)],
    "limits": [(torch.tensor([-1.0, 0.5, 4.0]), 0.0)],
    "while_else_flag": [([1, 5, 3], 3), ([1], 4)],
    "shadowed": [(1,), (5,)],
    "branches_of_types": [(True,), (False,)],
    "empty_containers": [(0,), (1,)],
    "einsum_and_shapes": [(torch.ones(2, 3), torch.ones(3, 4))],
    "device_and_dtype": [(torch.ones(3),), (torch.ones(3), torch.int64)],
    "Blocks": [(torch.ones(2),), (-torch.ones(2),)],
    "Exported": [(torch.ones(2),), (torch.ones(2),)],
    "Chosen": [(torch.ones(2),)],
    "Gated": [
        (torch.ones(3, 2),),
        (torch.ones(2, 2), torch.tensor([[False, True], [False, False]])),
        (torch.ones(1, 2), None, (torch.ones(1, 2), torch.zeros(1, 2))),
    ],
}

DIFFERS = {
    "modes": "`is` of two members of an enum never holds in TorchScript",
    "Blocks": "of a slice of a ModuleList TorchScript calls another part first",
    "texts": "TorchScript leaves fields with numbers, {0}, as text",
}

WIDER = {
    "typed_containers": "an empty list that is put into a dict is one of tensors there",
    "refined_by_continue": "`continue` narrows no name there",
    "repeated": "text is not repeated there",
    "chosen_items": "a comprehension has no `if` there",
    "closed": "no function stands in a function there",
    "constants": "what a global stands for is no value there",
    "compared_tuples": "tuples are not compared there",
    "backwards": "reversed takes no range there",
    "powers": "a power of whole numbers is a float there, and ~ and max of three are none",
    "calling": "arguments by keyword alone have no defaults there",
    "empty_items": "an empty list that is appended is one of tensors there",
    "Cached": "annotations in __init__ are not read there",
}
