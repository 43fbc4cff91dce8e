"""Certificates for a test: an authority, and what it signs for an address."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from swarm.log.tls import ServerTls


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, in memory and as PEM files."""

    certificate: x509.Certificate
    private: ec.EllipticCurvePrivateKey
    path: Path
    key: Path

    @property
    def shown(self) -> ServerTls:
        return ServerTls(self.path, self.key)


def make(
    folder: Path,
    name: str,
    issuer: Pair | None = None,
    *,
    address: str = "127.0.0.1",
    days: int = 1,
    passphrase: bytes | None = None,
) -> Pair:
    """Write NAME.pem and NAME.key: an authority, or with *issuer* a server's at *address*; *days* < 0 has expired."""
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = datetime.now(UTC) - timedelta(days=9)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=9 + days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if issuer is not None:
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
        builder = builder.add_extension(names, critical=False)
    certificate = builder.sign(private if issuer is None else issuer.private, hashes.SHA256())
    path, key = folder / f"{name}.pem", folder / f"{name}.key"
    path.write_bytes(certificate.public_bytes(Encoding.PEM))
    encryption = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    return Pair(certificate, private, path, key)
