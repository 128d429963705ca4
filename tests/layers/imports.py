"""Reads who imports whom out of syntax trees; nothing is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "workbench"


@dataclass(frozen=True)
class Import:
    """One import: the module that has it, the module it names, where, and in which function if in one.

    `checked` says that it stands under ``if TYPE_CHECKING:``, where only a type checker sees it.
    """

    module: str
    target: str
    line: int
    function: str | None
    checked: bool = False

    @property
    def room(self) -> str:
        return room_of(self.module)

    @property
    def target_room(self) -> str:
        return room_of(self.target)

    def __str__(self) -> str:
        place = f" in {self.function}()" if self.function else ""
        return f"{self.module}, line {self.line}: imports {self.target}{place}"


def room_of(module: str) -> str:
    """The room of a dotted module name: ``workbench.core.op`` is in ``core``; '' is the package itself."""
    parts = module.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else ""


def module_name(path: Path, package: Path) -> str:
    """Dotted name of the module in a file of `package`."""
    parts = [PACKAGE, *path.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, module: str, *, is_package: bool = False) -> Iterator[Import]:
    """Every import in a source text: statements, and calls that import a name known from the text."""
    yield from _walk(ast.parse(source), module, is_package, None, checked=False)


def _walk(
    node: ast.AST, module: str, is_package: bool, function: str | None, *, checked: bool
) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        inside = function
        within = checked
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            within = child in node.body
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = child.name
        elif isinstance(child, ast.Lambda):
            inside = "<lambda>"
        elif isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(module, alias.name, child.lineno, function, within)
        elif isinstance(child, ast.ImportFrom):
            origin = _origin(child, module, is_package)
            for alias in child.names:
                # `from workbench import nn` names a room, `from workbench.nn import Linear` a thing in it.
                target = f"{origin}.{alias.name}" if origin == PACKAGE else origin
                yield Import(module, target, child.lineno, function, within)
        elif isinstance(child, ast.Call) and (called := _imports_by_call(child)):
            name = child.args[0]
            target = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else "?"
            # A stand-in for a module imports it inside whatever function looks at it first.
            yield Import(module, target, child.lineno, "Lazy" if called == "Lazy" else function, within)
        elif (own := _taken_from_loaded(child)) is not None:
            yield Import(module, own, child.lineno, function, within)
        yield from _walk(child, module, is_package, inside, checked=within)


def _origin(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """The module that ``from … import`` names, relative ones made absolute."""
    if node.level == 0:
        return node.module or ""
    parts = module.split(".")
    base = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*base, *([node.module] if node.module else [])])


def _imports_by_call(call: ast.Call) -> str:
    """The name of the function called, if it imports what its first argument names; else ''."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name if name in ("import_module", "__import__", "Lazy") and call.args else ""


def _taken_from_loaded(node: ast.AST) -> str | None:
    """The module of this package that is taken out of ``sys.modules``, which is an import by another name."""
    if isinstance(node, ast.Subscript):
        table, name = node.value, node.slice
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and node.args
    ):
        table, name = node.func.value, node.args[0]
    else:
        return None
    from_table = isinstance(table, ast.Attribute) and table.attr == "modules"
    if not (from_table and isinstance(name, ast.Constant) and isinstance(name.value, str)):
        return None
    return name.value if name.value.split(".")[0] == PACKAGE else None


def imports_of_package(package: Path) -> list[Import]:
    """Every import of every file of a package."""
    found: list[Import] = []
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        found += imports_of(source, module_name(path, package), is_package=path.name == "__init__.py")
    return found


def cycle(edges: dict[str, set[str]]) -> list[str] | None:
    """One cycle of a graph as the names along it, the first repeated at the end; None if there is none."""
    done: set[str] = set()
    for start in sorted(edges):
        path: list[str] = []
        stack = [(start, iter(sorted(edges[start])))]
        path.append(start)
        while stack:
            name, following = stack[-1]
            target = next(following, None)
            if target is None:
                done.add(name)
                stack.pop()
                path.pop()
            elif target in path:
                return [*path[path.index(target) :], target]
            elif target not in done and target in edges:
                stack.append((target, iter(sorted(edges[target]))))
                path.append(target)
    return None
