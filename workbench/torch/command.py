"""``python -m workbench.torch``: a script, ``-m module`` or ``-c code``, run as Python itself would run it."""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any, NoReturn

from workbench.torch.finder import install
from workbench.torch.report import report_to

__all__ = ["main"]

USAGE = """usage: python -m workbench.torch [--traceback] script.py [argument ...]
       python -m workbench.torch [--traceback] -m module [argument ...]
       python -m workbench.torch [--traceback] -c code [argument ...]

Run a program that was written for PyTorch: in it, torch means the workbench.

  --traceback   show a whole traceback also where one line says what the program lacks
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program that the command line names, as ``__main__``; what it raises is told as Python tells it."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    whole = bool(given) and given[0] == "--traceback"
    if whole:
        del given[0]
    if not given or given[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if given else sys.stderr)
        sys.exit(0 if given else 2)
    if given[0].startswith("-") and given[0] not in ("-", "-m", "-c"):
        _stop(f"unknown option {given[0]}: it belongs to the program if it stands after its name\n{USAGE}", 2)
    if given[0] in ("-m", "-c") and len(given) == 1:
        _stop(f"argument expected for the {given[0]} option\n{USAGE}", 2)
    install()
    # From here on whatever is raised is the program's: an error in its first line, or in its syntax, too.
    try:
        code, names = _program(given)
        vars(sys.modules["__main__"]).clear()
        vars(sys.modules["__main__"]).update(names)
        exec(code, vars(sys.modules["__main__"]))
    except SystemExit:
        raise
    except BaseException:
        # Told by whom it may concern: the program may have set an excepthook of its own.
        sys.excepthook = report_to(sys.excepthook, whole=whole)
        raise


def _stop(words: str, status: int = 1) -> NoReturn:
    print(f"{sys.executable} -m workbench.torch: {words}".rstrip("\n"), file=sys.stderr)
    sys.exit(status)


def _program(given: list[str]) -> tuple[CodeType, dict[str, Any]]:
    """Return the code to run and the names that ``__main__`` begins with; set ``sys.argv`` and ``sys.path[0]``."""
    what, rest = given[0], given[1:]
    if what == "-c":
        _begin(["-c", *rest[1:]], "")
        return compile(rest[0], "<string>", "exec", dont_inherit=True), _names()
    if what == "-m":
        _begin(["-m", *rest[1:]], os.getcwd())
        spec = _module(rest[0])
        sys.argv[0] = str(spec.origin)
        return _code_of(spec, rest[0]), _names(spec.origin, spec)
    if what == "-":
        _begin(["-", *rest], "")
        return compile(sys.stdin.read(), "<stdin>", "exec", dont_inherit=True), _names()
    if os.path.isdir(what) or not what.endswith((".py", ".pyw")):
        found = PathFinder.find_spec("__main__", [what])
        if found is not None:  # a folder, or an archive, with a __main__.py
            _begin([what, *rest], what)
            return _code_of(found, what), _names(found.origin, found)
    return _script(what, rest)


def _script(path: str, rest: list[str]) -> tuple[CodeType, dict[str, Any]]:
    whole = os.path.abspath(path)
    try:
        with io.open_code(whole) as file:
            source = file.read()
    except OSError as error:
        _stop(f"can't open file {whole!r}: [Errno {error.errno}] {error.strerror}", 2)
    _begin([path, *rest], os.path.dirname(os.path.realpath(path)))
    names = _names(whole)
    names["__loader__"] = SourceFileLoader("__main__", whole)
    return compile(source, whole, "exec", dont_inherit=True), names


def _begin(argv: list[str], folder: str) -> None:
    sys.argv[:] = argv
    # With -P or -I Python puts nothing there, and what is there is another's.
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _names(path: str | None = None, spec: ModuleSpec | None = None) -> dict[str, Any]:
    """Return what Python puts into ``__main__`` before the first line."""
    names: dict[str, Any] = {
        "__name__": "__main__",
        "__doc__": None,
        "__package__": None if spec is None else spec.parent,
        "__loader__": None if spec is None else spec.loader,
        "__spec__": spec,
        "__annotations__": {},
        "__builtins__": builtins,
    }
    if path is not None:
        names |= {"__file__": path, "__cached__": None if spec is None else spec.cached}
    return names


def _module(name: str) -> ModuleSpec:
    """Return where a module is that ``-m`` names: a package's ``__main__``."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        _stop(f"Error while finding module specification for {name!r} (ModuleNotFoundError: {error})")
    if spec is None:
        _stop(f"No module named {name}")
    if spec.submodule_search_locations is not None:
        inner = importlib.util.find_spec(f"{name}.__main__")
        if inner is None:
            _stop(f"No module named {name}.__main__; {name!r} is a package and cannot be directly executed")
        return inner
    return spec


def _code_of(spec: ModuleSpec, name: str) -> CodeType:
    code = getattr(spec.loader, "get_code", lambda _: None)(spec.name)
    if code is None:
        _stop(f"No code object available for {name}")
    assert isinstance(code, CodeType)
    return code
