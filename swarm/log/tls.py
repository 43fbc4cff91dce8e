"""TLS to a server: whose certificates a client trusts, which ones a server shows, and refusals in words."""

import json
import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from swarm.errors import BadInput

PathLike = str | os.PathLike[str]
NO_TLS = "nats: the server offers no TLS; nothing is sent to it in the clear"
"""The text of the client's own error about a server that greets it without TLS."""
# OpenSSL's X509_V_ERR_…: an issuer that is missing, or a certificate that nobody here trusts.
_UNKNOWN_ISSUER = frozenset({2, 18, 19, 20, 21})


def client_context(authority: PathLike | None) -> ssl.SSLContext:
    """Return a context that checks a server's certificate and name: by *authority* (a PEM file), or the system's own.

    The file may also contain the server's own certificate. Raises `BadInput` if it cannot be read or contains none.
    """
    if authority is None:
        return ssl.create_default_context()
    _readable(Path(authority), "certificate")
    try:
        context = ssl.create_default_context(cafile=os.fspath(authority))
    except ssl.SSLError:
        raise BadInput("no certificate in PEM form", source=str(authority)) from None
    # This allows a certificate that is not an authority's to be trusted by itself.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def trusted(authority: PathLike | None) -> ssl.SSLContext | None:
    """Return `client_context` of *authority* if one is named; with None, the URL decides whether TLS is used."""
    return None if authority is None else client_context(authority)


@dataclass(frozen=True, slots=True)
class ServerTls:
    """What a server shows of itself: its certificate (with its chain) and its key, both PEM files.

    ``authority`` signed the certificate; without it, the certificate is trusted by itself, on the server's own machine.
    """

    certificate: Path
    key: Path
    authority: Path | None = None

    def check(self) -> None:
        """Raise `BadInput` unless both files exist, belong together, and the key has no passphrase."""
        _readable(self.certificate, "certificate")
        _readable(self.key, "key")
        try:
            # If OpenSSL wanted a passphrase, it would wait at the terminal.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key, lambda: "")
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise BadInput(f"not the key of the certificate {self.certificate}", source=str(self.key)) from None
            text = f"certificate or key ({self.key}) is not in PEM form, or the key has a passphrase"
            raise BadInput(text, source=str(self.certificate)) from None

    def own_context(self) -> ssl.SSLContext:
        """Return the context with which whoever started the server checks it: the certificate, whatever name it has."""
        context = client_context(self.authority or self.certificate)
        context.check_hostname = False
        return context

    def config(self) -> list[str]:
        """Return the block of a nats-server's configuration."""
        return [
            "tls {",
            f"  cert_file: {_quoted(self.certificate.resolve())}",
            f"  key_file: {_quoted(self.key.resolve())}",
            "}",
        ]


def _quoted(path: Path) -> str:
    return json.dumps(str(path), ensure_ascii=False)


def _readable(path: Path, what: str) -> None:
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise BadInput(f"the {what} cannot be read: {error.strerror}", source=str(path)) from None


def refusal(error: Exception) -> str | None:
    """Say in words why a connection was not trusted; None if trust was not the problem."""
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = "; --tls-ca FILE names the authority that signed it" if error.verify_code in _UNKNOWN_ISSUER else ""
        return f"the server's certificate is not trusted: {error.verify_message.rstrip('.')}{hint}"
    if isinstance(error, ssl.SSLError):
        return f"no TLS with this server: {(error.reason or str(error)).lower().replace('_', ' ')}"
    if str(error) == NO_TLS:
        return NO_TLS.removeprefix("nats: ")
    return None
