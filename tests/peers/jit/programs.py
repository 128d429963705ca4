"""Programs on the topics of TorchScript's documentation, which torch.jit.script and ours both compile.

``CASES`` has for each what it is called with. The file is read as it is for PyTorch, and with `torch` meaning the
workbench for ours.
"""

# ruff: noqa  as people write programs for TorchScript

import math
from enum import Enum
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Point(NamedTuple):
    x: Tensor
    scale: int = 2


class Colour(Enum):
    RED = 1
    GREEN = 2


@torch.jit.script
class Pair:
    def __init__(self, first: int, second: int):
        self.first = first
        self.second = second
        self.log: List[int] = []

    def total(self) -> int:
        self.log.append(self.first)
        return self.first + self.second

    def swap(self) -> None:
        self.first, self.second = self.second, self.first


@torch.jit.script
class Box(object):
    def __init__(self, value: Tensor):
        self.value = value

    def __add__(self, other: "Box") -> "Box":
        return Box(self.value + other.value)

    def __len__(self) -> int:
        return self.value.numel()

    @staticmethod
    def of(n: int) -> "Box":
        return Box(torch.ones(n))


def named_tuple(x: Tensor) -> Point:
    p = Point(x, 3)
    q = Point(p.x * p.scale)
    y, n = q
    return Point(y + q[0], n + p.scale)


def enum(c: Colour, n: int) -> int:
    if c == Colour.RED:
        return n
    return n * c.value if c == Colour.GREEN else -1


def enum_result(n: int) -> Colour:
    if n > 0:
        return Colour.RED
    return Colour.GREEN


def classes(a: int, b: int) -> Tuple[int, int, List[int]]:
    p = Pair(a, b)
    q = p
    q.swap()
    t = p.total()
    for i in range(3):
        p.first += i
        t += q.total()
    return t, p.first, q.log


def class_operators(n: int) -> Tensor:
    a = Box(torch.ones(n)) + Box.of(n)
    return a.value * len(a)


def comment_types(x, n, words):
    # type: (Tensor, int, List[str]) -> Tuple[Tensor, str]
    return x + n, "-".join(words)


def union(x: Union[int, str, List[int]]) -> int:
    if isinstance(x, int):
        return x + 1
    elif isinstance(x, str):
        return len(x)
    else:
        return x[0]


def any_type(x: Any) -> int:
    if isinstance(x, int):
        return x
    return -1


def optional_dict(d: Dict[str, int], key: str) -> int:
    if key in d:
        return d[key]
    return -1


def optional_chain(x: Optional[int], y: Optional[int]) -> int:
    if x is not None and y is not None:
        return x + y
    if x is None and y is None:
        return 0
    z = x if x is not None else 1
    assert z is not None
    return z


def unwrap(x: Optional[Tensor]) -> Tensor:
    assert x is not None
    return x + 1


def early_in_loop(xs: List[int]) -> int:
    i = 0
    while i < 100:
        if i >= len(xs):
            return -1
        if xs[i] > 3:
            return i
        i += 1
    return -2


def nested_breaks(n: int) -> int:
    count = 0
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            if (i + j) % 2:
                continue
            count += i * j
        if count > 20:
            break
    return count


def comprehension(xs: List[int]) -> List[int]:
    return [x * x for x in xs]


def dict_comprehension(xs: List[int]) -> Dict[int, float]:
    return {x: float(x) / 2 for x in xs}


def over_tensor(x: Tensor) -> Tensor:
    total = torch.zeros(2)
    for row in x:
        total = total + row
    return total


def over_enumerate_zip(xs: List[int], ys: List[int]) -> int:
    total = 0
    for i, (x, y) in enumerate(zip(xs, ys)):
        total += i * x * y
    return total


def over_tuple(t: Tuple[int, float, int]) -> float:
    total = 0.0
    for one in t:
        total += one
    return total


def over_string(s: str) -> List[str]:
    out: List[str] = []
    for c in s:
        if c != "a":
            out.append(c)
    return out


def indexing(x: Tensor) -> Tensor:
    y = x[1:, :2]
    z = x[..., -1]
    w = x[:, None, 0]
    x[0, 0] = 5.0
    return y.sum() + z.sum() + w.sum() + x[x > 2].sum() + x[torch.tensor([0, 1])].sum()


def shapes(x: Tensor) -> Tuple[int, List[int], int, int]:
    n, m = x.shape
    return n * m, x.size(), x.size(0), x.dim()


def tensor_methods(x: Tensor) -> Tuple[Tensor, Tensor]:
    values, places = x.max(dim=1)
    result = torch.topk(x, 2)
    return values + result.values[:, 0], places + result[1][:, 0]


def functional(x: Tensor, training: bool = False) -> Tensor:
    x = F.relu(x)
    x = F.dropout(x, 0.5, training)
    return F.softmax(torch.cat([x, x], dim=1), dim=-1, dtype=torch.float64)


def lists(xs: List[int]) -> Tuple[List[int], int, bool]:
    ys = xs.copy()
    ys.append(3)
    ys.insert(0, 9)
    ys.extend([1, 2])
    ys.remove(9)
    last = ys.pop()
    ys.reverse()
    ys.sort()
    ys[0] = 7
    del ys[1]
    zs = ys[1:] + [last] * 2
    return zs, ys.index(3) + ys.count(7), 7 in ys


def tensor_lists(x: Tensor, n: int) -> Tensor:
    parts = []
    for i in range(n):
        parts.append(x * i)
    return torch.stack(parts)


def strings(s: str) -> Tuple[str, List[str], bool, int]:
    parts = s.split(" ")
    t = s.upper().lower().strip().replace("b", "d")
    return t[1:3] + s[-1], parts, s.startswith("a") and not s.endswith("z"), s.find("c") + len(s)


def formats(n: int, x: float, s: str) -> str:
    return f"{n} and {s}" + "{}-{}".format(s, n)


def arithmetic(a: int, b: int, x: float) -> List[float]:
    return [a / b, float(a // b), float(a % b), x**2, -x // 1.0, float(a & b | 1), float(a << 2), abs(x)]


def conversions(x: Tensor, s: str) -> Tuple[int, float, bool, int, float]:
    return int(x[0]), float(x[1]), bool(x[2]), int(s), float(s)


def maths(x: float) -> List[float]:
    return [math.sin(x), math.floor(x) * 1.0, math.log(x), math.pi, math.pow(x, 2.0), math.ceil(x) * 1.0]


def builtin(xs: List[int], ys: List[float]) -> Tuple[int, float, int, bool, bool, float]:
    return max(xs), min(ys), sum(xs), any([x > 2 for x in xs]), all([x > 0 for x in xs]), float(len(ys))


def chained(a: int, b: int) -> bool:
    return 0 < a < b <= 10 or not (a == b) and b != 3


def ternary(x: Tensor, flag: bool) -> Tensor:
    return x + 1 if flag else x - 1


def raising(n: int) -> int:
    if n < 0:
        raise ValueError(f"{n} is negative")
    assert n < 10, "too large"
    return n


def defaults(x: Tensor, n: int = 2, name: str = "a", *, flag: bool) -> Tensor:
    return x * n if name == "a" and flag else x


def callee(x: Tensor, n: int = 3) -> Tensor:
    return x * n


def calling(x: Tensor) -> Tensor:
    return callee(x) + callee(n=2, x=x)


def forked(x: Tensor) -> Tensor:
    one = torch.jit.fork(callee, x, 2)
    return torch.jit.wait(one) + 1


def scripting() -> bool:
    if torch.jit.is_scripting():
        return True
    return False


def annotated(n: int) -> List[int]:
    xs = torch.jit.annotate(List[int], [])
    for i in range(n):
        xs.append(i)
    return xs


def dicts(d: Dict[str, Tensor]) -> Tensor:
    total = torch.zeros(2)
    for key, value in d.items():
        if key.startswith("a"):
            total += value
    d["new"] = total
    for value in d.values():
        total = total + value
    return total * len(d) + len(d.keys())


def multiple_assignment(a: int) -> Tuple[int, int, int]:
    x = y = a
    x, y = y + 1, x + 2
    (p, q), r = (x, y), a
    p += q
    return p, q, r


def in_place(x: Tensor) -> Tensor:
    y = x.view(-1)
    y.add_(1)
    y[0] = 10
    x *= 2
    return x + y.sum()


def dtypes(x: Tensor) -> Tensor:
    z = torch.zeros(x.shape, dtype=x.dtype, device=x.device)
    return z.to(torch.float64) + x.to(torch.int64).type_as(z)


class Cell(nn.Module):
    size: Final[int]

    def __init__(self, size: int):
        super().__init__()
        self.size = size
        self.linear = nn.Linear(size, size)
        with torch.no_grad():
            self.linear.weight.copy_(torch.arange(size * size).view(size, size) / 10)
            self.linear.bias.fill_(0.5)

    def forward(self, x: Tensor, h: Tensor) -> Tuple[Tensor, Tensor]:
        new = torch.tanh(self.linear(x) + h)
        return new, new * self.size


class Loop(nn.Module):
    steps: int
    seen: List[int]

    def __init__(self, steps: int):
        super().__init__()
        self.cell = Cell(2)
        self.steps = steps
        self.seen = []
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x: Tensor, h: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        if h is None:
            h = torch.zeros(2)
        y = x
        for i in range(self.steps):
            y, h = self.cell(y, h)
            self.seen.append(i)
        self.total += y.sum()
        self.steps += 1
        return y, h

    @torch.jit.export
    def count(self) -> int:
        return len(self.seen)


CASES = {
    "named_tuple": [(torch.ones(2),)],
    "enum": [(Colour.RED, 3), (Colour.GREEN, 3)],
    "enum_result": [(1,), (0,)],
    "classes": [(1, 5)],
    "class_operators": [(3,)],
    "comment_types": [(torch.ones(2), 3, ["a", "b"])],
    "union": [(3,), ("abc",), ([7, 8],)],
    "any_type": [(3,), ("a",)],
    "optional_dict": [({"a": 1}, "a"), ({"a": 1}, "b")],
    "optional_chain": [(1, 2), (None, None), (3, None), (None, 4)],
    "unwrap": [(torch.ones(1),), (None,)],
    "early_in_loop": [([1, 2, 5],), ([],)],
    "nested_breaks": [(3,), (9,)],
    "comprehension": [([1, 2, 3],)],
    "dict_comprehension": [([1, 2, 3],)],
    "over_tensor": [(torch.ones(3, 2),)],
    "over_enumerate_zip": [([1, 2, 3], [4, 5])],
    "over_tuple": [((1, 2.5, 3),)],
    "over_string": [("banana",)],
    "indexing": [(torch.arange(12).view(3, 4) / 3,)],
    "shapes": [(torch.ones(3, 4),)],
    "tensor_methods": [(torch.arange(6).view(2, 3) * 1.5,)],
    "functional": [(torch.ones(2, 2),), (-torch.ones(2, 2), False)],
    "lists": [([3, 5, 1],)],
    "tensor_lists": [(torch.ones(2), 3), (torch.ones(2), 0)],
    "strings": [("abc bc",), ("zz z",)],
    "formats": [(3, 1.5, "x")],
    "arithmetic": [(7, 2, 1.5), (-7, 2, -1.5), (7, -2, 0.0)],
    "conversions": [(torch.tensor([1.9, 2.5, 0.0]), "12")],
    "maths": [(1.25,)],
    "builtin": [([1, 2, 3], [0.5, -1.0])],
    "chained": [(1, 2), (3, 3), (5, 20)],
    "ternary": [(torch.ones(2), True), (torch.ones(2), False)],
    "raising": [(1,), (-1,), (10,)],
    "calling": [(torch.ones(2),)],
    "forked": [(torch.ones(2),)],
    "scripting": [()],
    "annotated": [(3,)],
    "dicts": [({"a": torch.ones(2), "b": torch.ones(2)},)],
    "multiple_assignment": [(1,)],
    "in_place": [(torch.ones(2, 2),)],
    "dtypes": [(torch.ones(2),)],
}
