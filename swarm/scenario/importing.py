"""Finding a mind that the user wrote: ``package.module:Class``."""

import importlib
import inspect
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from agents.agent import Agent
from swarm.errors import BadInput


def instantiate(name: str, arguments: Mapping[str, Any], folder: str | None = None) -> Agent:
    """Import the class *name* and call it with *arguments*; raise `BadInput` saying what failed.

    *folder* is searched after the import path, so that a class beside the scenario is found. Output of the class goes
    to stderr meanwhile, because stdout is for results.
    """
    with redirect_stdout(sys.stderr):
        kind = _find(name, folder or str(Path.cwd()))
        try:
            return kind(**arguments)
        except BaseException as error:
            _let_interrupts_pass(error)
            raise BadInput(f"agent {name}: {_named(error)}; look at its args ({_taken_by(kind)})") from error


def _find(name: str, folder: str) -> type[Agent]:
    module_name, _, class_name = name.partition(":")
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise BadInput(f"agent {name}: {error}; it must be importable from {folder} or installed") from None
    except BaseException as error:
        _let_interrupts_pass(error)
        raise BadInput(f"agent {name}: importing it failed: {_named(error)}") from error
    kind = getattr(module, class_name, None)
    if kind is None:
        raise BadInput(f"agent {name}: the module {module_name} has no {class_name}")
    if not (isinstance(kind, type) and issubclass(kind, Agent)):
        raise BadInput(f"agent {name}: it must be a subclass of agents.Agent")
    return kind


def _let_interrupts_pass(error: BaseException) -> None:
    """Raise *error* again unless it comes from the user's code: an exit that it asks for must not end our run."""
    if not isinstance(error, Exception | SystemExit):
        raise error


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _taken_by(kind: type[Agent]) -> str:
    try:
        return f"it takes {inspect.signature(kind)}"
    except (TypeError, ValueError):
        return "its signature cannot be told"
