"""Everything that follows from the list of views: ``python -m workbench.lab.views`` writes it, part of ``make format``.

The list is `workbench.live.messages.views`. From it, and from the messages, come the TypeScript types of the
protocol with what the page knows of each view, the table of the pages' functions, that of the example states, and
the two modules of Python that gather names. With ``--check`` nothing is changed, and the run fails if a file differs.

Files are read as syntax trees and not imported: the list may name a view whose names are not gathered yet.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.lab.protocol import typescript

__all__ = ["ROOT", "Entry", "main", "read_views"]

ROOT = Path(__file__).parents[2]

MESSAGES = Path("workbench", "live", "messages")
LIST = MESSAGES / "views.py"
WIDTH = 110

TYPESCRIPT = (
    "// Written by `python -m workbench.lab.views`, from the list of views and their messages: do not edit.\n"
)
PYTHON = "# Written by `python -m workbench.lab.views`: change the list of views, or the files below.\n"


@dataclass(frozen=True)
class Entry:
    """One entry of the list, as it is written: classes by their names."""

    name: str
    title: str
    icon: str
    states: tuple[str, ...]
    events: tuple[str, ...]
    widgets: dict[str, tuple[str, ...]]
    run: str
    selects: str | None = None
    height: int = 640

    @property
    def type(self) -> str:
        """How names of types and functions begin that belong to it: ``Histogram``."""
        return self.name[0].upper() + self.name[1:]


def read_views(path: Path) -> list[Entry]:
    """Return the entries of the list in the file `path`.

    Raises:
        TypeError: an entry is not written as it must be, with its line.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        _entry(call, path) for call in calls if isinstance(call.func, ast.Name) and call.func.id == "View"
    ]


def _entry(call: ast.Call, path: Path) -> Entry:
    fields: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg in ("states", "events"):
            if not isinstance(keyword.value, ast.Tuple):
                raise TypeError(
                    f"{path.name}, line {keyword.value.lineno}: {keyword.arg} is a tuple of message classes, "
                    f"not {ast.unparse(keyword.value)}"
                )
            fields[keyword.arg] = tuple(ast.unparse(one) for one in keyword.value.elts)
        else:
            fields[str(keyword.arg)] = ast.literal_eval(keyword.value)
    try:
        return Entry(**fields)
    except TypeError as error:
        raise TypeError(f"{path.name}, line {call.lineno}: {error}") from None


# ------------------------------------------------------------------------------------------------ TypeScript


def _text(value: str) -> str:
    """A string of TypeScript, in the quotes that prettier prefers."""
    plain = json.dumps(value, ensure_ascii=False)
    if "'" in value:
        return plain
    # Prettier's choice of quotes, so that what is written is formatted already.
    return "'" + plain[1:-1].replace('\\"', '"') + "'"


def _protocol(root: Path, views: Sequence[Entry]) -> str:
    """The types of all messages, and what the page knows of each view."""
    parts = [TYPESCRIPT]
    for path in sorted((root / MESSAGES).glob("*.py")):
        if path == root / LIST:
            continue
        try:
            text = typescript(path.read_text(encoding="utf-8"))
        except TypeError as error:
            raise TypeError(f"{path.name}, {error}") from None
        if text:
            parts.append(f"// {path.stem}\n\n{text}")
    return "\n".join([*parts, "// views\n", *_view_types(views), _view_table(views)])


def _view_types(views: Sequence[Entry]) -> Iterator[str]:
    for view in views:
        yield f"/** What the {view.name} view can draw; told apart by `kind`. */"
        yield _union(f"{view.type}ViewState", view.states)
        yield f"/** What the {view.name} view may send; told apart by `type`. */"
        yield _union(f"{view.type}ViewEvent", view.events)
    yield "/** The states and events of each view. */\nexport interface Views {"
    for view in views:
        kinds = f"{{ readonly state: {view.type}ViewState; readonly event: {view.type}ViewEvent }}"
        yield f"  readonly {view.name}: {kinds};"
    yield "}\n\n/** The name of a view. */\nexport type ViewName = keyof Views;\n"


def _union(name: str, members: Sequence[str]) -> str:
    line = f"export type {name} = {' | '.join(members) or 'never'};"
    if len(line) > WIDTH:
        line = f"export type {name} =" + "".join(f"\n  | {member}" for member in members) + ";"
    return line + "\n"


def _view_table(views: Sequence[Entry]) -> str:
    text = """/** What the page knows of a view. */
export interface ViewInfo {
  readonly title: string;
  /** Outline of its icon: the `d` of a path on 16 by 16. */
  readonly icon: string;
  /** The line that fills its section. */
  readonly run: string;
  /** Height of its section in pixels. */
  readonly height: number;
}

/** All views, in the order in which the sidebar shows them. */
export const VIEWS: Readonly<Record<ViewName, ViewInfo>> = {
"""
    entries = [
        f"  {view.name}: {{\n    title: {_text(view.title)},\n    icon: {_text(view.icon)},\n"
        f"    run: {_text(view.run)},\n    height: {view.height}\n  }}"
        for view in views
    ]
    names = "/** Their names. */\nexport const VIEW_NAMES = Object.keys(VIEWS) as readonly ViewName[];\n"
    return text + ",\n".join(entries) + "\n};\n\n" + names


def _mounts(root: Path, views: Sequence[Entry]) -> str:
    """The functions that put a view into a page: `views/src/<name>/index.ts` exports `mount<Name>`."""
    imports = "".join(f"import {{ mount{view.type} }} from './{view.name}/index';\n" for view in views)
    entries = ",\n".join(f"  {view.name}: mount{view.type}" for view in views)
    return f"""{TYPESCRIPT}import type {{ Mount }} from './host';
import type {{ ViewName, Views }} from './protocol';
{imports}
/** The mount function of each view, by the name that messages use. */
export const mounts: {{
  readonly [Name in ViewName]: Mount<Views[Name]['state'], Views[Name]['event']>;
}} = {{
{entries}
}};
"""


def _examples(root: Path, views: Sequence[Entry]) -> str:
    """The example states of the test page: `views/harness/states/<name>.ts` exports `states`."""
    imports = "".join(f"import {{ states as {view.name} }} from './{view.name}';\n" for view in views)
    entries = ",\n".join(f"  {view.name}" for view in views)
    return f"""{TYPESCRIPT}import type {{ ViewName }} from '../../src/protocol';
import type {{ Example }} from './tools';
{imports}
/** Example states, by view and name. */
export const examples: Record<ViewName, Record<string, () => Example>> = {{
{entries}
}};
"""


# ---------------------------------------------------------------------------------------------------- Python


def _messages(root: Path, views: Sequence[Entry]) -> str:
    """The room of the messages: what each of its files offers."""
    files = sorted(path for path in (root / MESSAGES).glob("*.py") if path.stem != "__init__")
    offered = {f"workbench.live.messages.{path.stem}": _offered(path) for path in files}
    return _gathered(root / MESSAGES / "__init__.py", offered)


def _widgets(root: Path, views: Sequence[Entry]) -> str:
    """The room of the widgets: what the entries say that it offers."""
    offered = {
        f"workbench.widgets.{module}": list(names) for view in views for module, names in view.widgets.items()
    }
    return _gathered(root / "workbench" / "widgets" / "__init__.py", offered)


def _offered(path: Path) -> list[str]:
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(statement.value)]
    raise TypeError(f"{path.name}: a file of messages says in __all__ what it offers")


def _order(name: str) -> tuple[int, str]:
    # Constants, classes, and the rest, as ruff sorts them.
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _gathered(path: Path, offered: dict[str, list[str]]) -> str:
    """A module that imports names from others, behind the docstring that it has."""
    # Not cleaned: the docstring goes back into the file as it stands there.
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")), clean=False)
    lines = [f'"""{doc}"""\n\n{PYTHON}\nfrom __future__ import annotations\n\n']
    # In the order in which a formatter wants them: `base` is before all views.
    lines.append("from workbench.base.public import words\n")
    for module, names in sorted(offered.items()):
        chosen = sorted(names, key=_order)
        line = f"from {module} import {', '.join(chosen)}\n"
        if len(line) > WIDTH:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in chosen) + ")\n"
        lines.append(line)
    everything = sorted((name for names in offered.values() for name in names), key=_order)
    lines.append("\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in everything) + "]\n")
    lines.append("\n__getattr__, __dir__ = words(__name__, __all__)\n")
    return "".join(lines)


# ------------------------------------------------------------------------------------------------------ both

WRITTEN: dict[Path, Callable[[Path, Sequence[Entry]], str]] = {
    Path("extensions", "protocol", "src", "messages.ts"): _protocol,
    Path("extensions", "views", "src", "mounts.ts"): _mounts,
    Path("extensions", "views", "harness", "states", "index.ts"): _examples,
    MESSAGES / "__init__.py": _messages,
    Path("workbench", "widgets", "__init__.py"): _widgets,
}
"""Each file that is written, and what writes it."""


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write every file that follows from the list, or with ``--check`` say which is out of date."""
    parser = argparse.ArgumentParser(prog="python -m workbench.lab.views", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a file is out of date")
    options = parser.parse_args(arguments)
    views = read_views(root / LIST)
    wanted = {root / path: write(root, views) for path, write in WRITTEN.items()}
    changed = {
        path: text
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in changed.items():
        if options.check:
            print(f"{path} is out of date; run: python -m workbench.lab.views", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
