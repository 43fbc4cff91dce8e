"""`swarm broker`: the embedded server in the foreground, and what makes somebody else's server equal to it."""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swarm.cli.server import TlsCa
from swarm.errors import BadInput
from swarm.signed.identity import Identity
from swarm.tasks import until_first

if TYPE_CHECKING:
    from swarm.broker.server import Broker
    from swarm.log.tls import ServerTls


def broker_command(
    directory: Annotated[Path | None, typer.Option("--dir", help="Keep the store here.")] = None,
    port: Annotated[int | None, typer.Option(help="Listen here; a free port if left out.", min=1, max=65535)] = None,
    secure: Annotated[bool, typer.Option(help="Let only the members named log in, each on its own subjects.")] = False,
    member: Annotated[list[str] | None, typer.Option(help="A member's public key (with --secure).")] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve TLS with this certificate and its chain (PEM).")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The certificate's key (PEM).")] = None,
    tls_ca: TlsCa = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print a configuration for another nats-server; start nothing.")
    ] = False,
    setup: Annotated[
        str | None, typer.Option(metavar="KEY", help="With --print-config: the public key that makes the streams.")
    ] = None,
    make_streams: Annotated[
        str | None, typer.Option(metavar="URL", help="Make the streams on that server, or check them; start nothing.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="With --make-streams: the key file that logs in.")] = None,
    replicas: Annotated[
        int | None, typer.Option(help="With --make-streams: how many servers of a cluster hold each.", min=1, max=5)
    ] = None,
    sync: Annotated[
        str | None, typer.Option(metavar="INTERVAL", help="Write to the disk this often: always, 1s, 2m (the default).")
    ] = None,
    store_mib: Annotated[int | None, typer.Option(help="How much the store may hold; 1024 if left out.", min=1)] = None,
) -> int:
    """Run the embedded NATS server on 127.0.0.1 until interrupted; or prepare another one.

    Examples: swarm broker --dir ./store --port 4222 · swarm broker --secure --member UADA… --tls-cert a.pem
    --tls-key a.key · swarm broker --print-config --setup UOPS… --member UADA… --member UBEN… > nats.conf

    Exit codes: 0 stopped or done, 2 bad input, 3 the server ended, cannot be reached or is not trusted.
    """
    starts = (directory, port, tls_cert, tls_key, sync, store_mib)
    if member and not (secure or print_config):
        raise BadInput("--member goes with --secure or --print-config")
    if setup is not None and not print_config:
        raise BadInput("--setup goes with --print-config")
    if key is not None and make_streams is None:
        raise BadInput("--key goes with --make-streams")
    if replicas is not None and make_streams is None:
        raise BadInput("--replicas goes with --make-streams")
    if print_config:
        if not member or make_streams is not None or any(given is not None for given in starts):
            raise BadInput("--print-config takes the --member keys that may log in, and --setup; nothing else")
        from swarm.broker.config import config_for_others

        print(config_for_others(member, setup), end="")
        return 0
    if make_streams is not None:
        if secure or any(given is not None for given in starts):
            raise BadInput("--make-streams takes --key, --replicas and --tls-ca; nothing else")
        return _make_streams(make_streams, key, tls_ca, replicas or 1)
    if secure and not member:
        raise BadInput("--secure needs the --member keys that may log in")
    tls = _tls(tls_cert, tls_key, tls_ca)
    from swarm.broker.config import DEFAULT_STORE_BYTES
    from swarm.broker.server import Broker

    broker = Broker(
        directory,
        port=port,
        members=list(member) if secure and member else None,
        store_limit_bytes=DEFAULT_STORE_BYTES if store_mib is None else store_mib * 2**20,
        sync=sync,
        tls=tls,
    )
    return asyncio.run(_serve(broker))


def _tls(certificate: Path | None, key: Path | None, authority: Path | None) -> "ServerTls | None":
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise BadInput("--tls-cert and --tls-key go together")
    from swarm.log.tls import ServerTls

    return ServerTls(certificate, key, authority)


def _make_streams(url: str, key: Path | None, tls_ca: Path | None, replicas: int) -> int:
    from swarm.log.servers import check_server
    from swarm.log.streams import ensure_streams
    from swarm.log.subjects import INVITES, ROOMS
    from swarm.log.tls import trusted

    check_server(url)
    identity = None if key is None else Identity.load(key)
    asyncio.run(ensure_streams(url, identity=identity, replicas=replicas, tls=trusted(tls_ca)))
    print(f"{url}: the streams {ROOMS} and {INVITES} are there, as they should be")
    return 0


async def _serve(starting: "Broker") -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    async with starting as broker:
        print(broker.url, flush=True)
        print("Ctrl-C stops it", file=sys.stderr)
        await until_first(broker.wait, stop.wait)
    return 0 if stop.is_set() else 3
