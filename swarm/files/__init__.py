"""What people write: YAML and JSON read strictly, tables of scores, results written whole."""

from typing import TYPE_CHECKING

from swarm.lazy import lazily

if TYPE_CHECKING:
    from swarm.files.document import (
        MAX_BYTES,
        MAX_DEPTH,
        MAX_NODES,
        MAX_YAML_BYTES,
        Document,
        from_data,
        load,
        read_document,
    )
    from swarm.files.scalars import DecimalText, ValueText
    from swarm.files.validation import validate

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_NODES",
    "MAX_YAML_BYTES",
    "DecimalText",
    "Document",
    "ValueText",
    "from_data",
    "load",
    "read_document",
    "validate",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "DecimalText": "swarm.files.scalars",
        "Document": "swarm.files.document",
        "MAX_BYTES": "swarm.files.document",
        "MAX_DEPTH": "swarm.files.document",
        "MAX_NODES": "swarm.files.document",
        "MAX_YAML_BYTES": "swarm.files.document",
        "ValueText": "swarm.files.scalars",
        "from_data": "swarm.files.document",
        "load": "swarm.files.document",
        "read_document": "swarm.files.document",
        "validate": "swarm.files.validation",
    },
)
