"""Where a log is served: by one server, or by several of one cluster."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from swarm.errors import BadInput


def split_servers(servers: str | Iterable[str]) -> list[str]:
    """Return the URLs in *servers*: one text separated by commas, or several such texts."""
    texts = [servers] if isinstance(servers, str) else servers
    return [url.strip() for text in texts for url in text.split(",")]


_SCHEMES = ("nats", "tls")


def check_server(urls: str) -> None:
    """Raise `BadInput` unless *urls* names a NATS server, or several of one cluster separated by commas."""
    for url in split_servers(urls):
        _check_url(url)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.path in ("", "/") and parts.port != 0
        fits = fits and re.fullmatch(r"[^\s\x00-\x1f]+", url) is not None
    except ValueError:
        fits = False
    if not fits:
        raise BadInput(f"{url!r} is no NATS server; expected nats://HOST:PORT or tls://HOST:PORT", source="--server")
