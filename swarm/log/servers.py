"""Where a log is served: one server, or several of one cluster."""

from collections.abc import Iterable


def split_servers(servers: str | Iterable[str]) -> list[str]:
    """Return the URLs in *servers*: a text with commas between them, or several such."""
    texts = [servers] if isinstance(servers, str) else servers
    return [url.strip() for text in texts for url in text.split(",")]
