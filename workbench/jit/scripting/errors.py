"""What cannot be scripted: the user's own line, why, and what to write instead."""

from __future__ import annotations

import ast
from dataclasses import dataclass

__all__ = ["ScriptError", "Source"]


class ScriptError(RuntimeError):
    """A program that cannot be scripted; says where, why, and what would work."""


@dataclass(frozen=True)
class Source:
    """The text of a function or class, and where it stands."""

    file: str
    first: int
    """The line of the file in which the text begins."""
    lines: tuple[str, ...]
    """Its lines, without the indentation that all of them have."""
    indent: int
    """How wide that was."""

    def line_of(self, tree: ast.AST) -> int:
        """Return the line of the file in which `tree` begins."""
        return self.first + int(getattr(tree, "lineno", 1)) - 1

    def error(self, tree: ast.AST, why: str, fix: str = "") -> ScriptError:
        """Return the error for `tree`: a caret stands under its beginning."""
        number = int(getattr(tree, "lineno", 1))
        text = self.lines[number - 1] if number <= len(self.lines) else ""
        # Columns of `ast` count bytes of UTF-8.
        start = len(text.encode()[: int(getattr(tree, "col_offset", 0))].decode(errors="replace"))
        last = int(getattr(tree, "end_col_offset", 0) or 0)
        same = getattr(tree, "end_lineno", number) == number
        width = len(text.encode()[:last].decode(errors="replace")) - start if same else len(text) - start
        message = f"{why}{'.' if fix else ''}{' ' + fix if fix else ''}\n"
        message += f'  File "{self.file}", line {self.line_of(tree)}, column {self.indent + start + 1}\n'
        return ScriptError(f"{message}    {text}\n    {' ' * start}{'^' * max(width, 1)}")
