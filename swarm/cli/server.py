"""What the verbs that talk to a server share."""

from pathlib import Path
from typing import Annotated

import typer

TlsCa = Annotated[
    Path | None,
    typer.Option(
        "--tls-ca",
        envvar="SWARM_TLS_CA",
        metavar="FILE",
        help="The authority (PEM) that signed the server's certificate; the system's own if left out.",
    ),
]
"""``--tls-ca``: with it, or with a URL that begins with ``tls``, nothing is sent in plain text."""
