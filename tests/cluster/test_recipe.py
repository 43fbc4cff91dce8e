"""The cluster of docs/operations.md: its commands are run as they stand there, its compose file is one."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from swarm.broker.server import server_binary
from swarm.signed.identity import Identity
from tests.support.patience import until
from tests.support.small_rooms import ROOT, swarm
from tests.support.three_servers import NAMES, free_ports

PAGE = ROOT / "docs" / "operations.md"
RECIPE = ROOT / "docs" / "operations"
PORTS = [*range(4221, 4224), *range(6221, 6224)]


def commands(start: str) -> list[str]:
    """Return the lines of the page's command blocks that begin with *start*, with ports that are free here."""
    free = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if re.match(start, line)]
    return [re.sub(r"\b[46]22[123]\b", lambda found: str(free[int(found[0])]), line) for line in lines]


def test_the_page_s_cluster_runs_as_it_is_written(tmp_path: Path) -> None:
    """Protects who follows the page: three servers by its commands, its streams, a doctor who finds nothing wrong."""
    key, setup = Identity.new(), tmp_path / "setup.key"
    assert swarm("keys", "new", str(setup)).returncode == 0
    printed = swarm("broker", "--print-config", "--setup", Identity.load(setup).public, "--member", key.public)
    (tmp_path / "nats.conf").write_text(printed.stdout, encoding="utf-8")
    (tmp_path / "node.conf").write_bytes((RECIPE / "node.conf").read_bytes())
    lines = commands("cd .* && NAME=|swarm broker --make-streams|swarm doctor --server nats://127.0.0.1:4221")
    serving, (make, look) = lines[:3], lines[3:]
    started = []
    try:
        for line in serving:
            cd, folder, then, name, program, *words = shlex.split(line)
            assert (cd, then, program) == ("cd", "&&", "nats-server")
            (tmp_path / folder).mkdir()
            with (tmp_path / f"{folder}.log").open("wb") as log:
                started.append(
                    subprocess.Popen(
                        [str(server_binary()), *words],
                        cwd=tmp_path / folder,
                        env={"NAME": name.removeprefix("NAME="), "PATH": ""},
                        stdout=log,
                        stderr=log,
                    )
                )

        def told(line: str) -> "subprocess.CompletedProcess[str]":
            return swarm(*(str(setup) if word == "setup.key" else word for word in shlex.split(line)[1:]))

        until(lambda: told(make).returncode == 0, "the streams are made", 90)
        checks: dict[str, Any] = {}

        def well() -> bool:
            checks.update(json.loads(told(f"{look} --json").stdout))
            levels = {check["check"]: check["level"] for check in checks["checks"]}
            return bool(levels.get("servers") == levels.get("SWARM") == "ok")

        until(well, "three replicas, all current", 60)
        assert next(check["text"] for check in checks["checks"] if check["check"] == "SWARM").endswith("3 replica(s)")
    finally:
        for process in started:
            process.kill()
            process.wait(10)


def test_the_compose_file_is_one_and_fits_the_configuration() -> None:
    """Protects who copies it: three services with a store, a port and a name each, and the files that it mounts."""
    compose = YAML(typ="safe").load(RECIPE / "compose.yaml")
    assert set(compose["services"]) == set(NAMES)
    routes = re.findall(r"nats://(\w+):6222", (RECIPE / "node.conf").read_text("utf-8"))
    assert set(routes) == set(NAMES)
    taken = []
    for name, service in compose["services"].items():
        assert service["environment"]["NAME"] == name
        assert service["command"] == ["-c", "/etc/nats/node.conf", "-a", "0.0.0.0"]
        assert service["working_dir"] == "/data"
        mounts = dict(volume.split(":")[:2] for volume in service["volumes"])
        assert mounts[name] == "/data"
        assert name in compose["volumes"]
        assert mounts["./node.conf"] == "/etc/nats/node.conf"
        assert mounts["./nats.conf"] == "/etc/nats/nats.conf"
        (port,) = service["ports"]
        taken.append(port)
        assert port.endswith(":4222")
    assert len(set(taken)) == len(taken)
