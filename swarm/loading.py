"""Finding a mind that the user wrote: ``package.module:Class``."""

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.agent import Agent
from swarm.errors import BadInput


def instantiate(name: str, arguments: Mapping[str, Any], folder: str | None = None) -> Agent:
    """Import the class *name* and call it with *arguments*; raise `BadInput` saying what failed.

    *folder* is searched after the import path, so that a class beside the scenario is found.
    """
    module_name, _, class_name = name.partition(":")
    here = folder or str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        kind = getattr(importlib.import_module(module_name), class_name)
    except ImportError as error:
        raise BadInput(f"agent {name}: {error}; it must be importable from here or installed") from None
    except AttributeError:
        raise BadInput(f"agent {name}: the module {module_name} has no {class_name}") from None
    except Exception as error:
        raise BadInput(f"agent {name}: importing it failed: {type(error).__name__}: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Agent)):
        raise BadInput(f"agent {name}: it must be a subclass of agents.Agent")
    try:
        return kind(**arguments)
    except Exception as error:
        raise BadInput(f"agent {name}: {type(error).__name__}: {error}; look at its args") from error
