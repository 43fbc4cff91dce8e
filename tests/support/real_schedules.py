"""A room of real processes under a schedule of faults drawn from one seed, which fixes what happens when.

Members are killed and stopped, and come back at once, late or never; so is the server; each member's way to the server
is cut, half-closed, slow or lost for a while; now and then a second process takes a member's key.
"""

import heapq
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from swarm.testing import storm as schedules
from tests.support.fault_site import Site
from tests.support.patience import PATIENCE_S, until

STEP_S = 4
WATCH_S = 12
LASTS_S = 9
"""From the opening on, faults happen for so long."""
FAULTS = (3, 9)
"""How many there are: at least the first number, fewer than the second."""


class RealStorm:
    """One schedule. One member always comes back: with nobody left there is nobody to end the room."""

    def __init__(self, seed: int, make: Callable[..., Site]) -> None:
        self.random = random = Random(seed)
        self.scenario = schedules.drawn(random)
        self.scenario["rules"] |= {"step_seconds": STEP_S, "watch_seconds": WATCH_S}
        self.names = [member["name"] for member in self.scenario["members"]]
        self.lasting = random.choice(self.names)
        self.site = make(*self.names)
        self.proxies = {name: self.site.proxy(random.getrandbits(32)) for name in self.names}
        self.pauses = {name: random.random() * 0.7 for name in self.names}
        """How long each member thinks, so that the faults find the room at work."""
        self.dead: set[str] = set()
        self.told: list[str] = []
        """What was done, for the record."""
        self._due: list[tuple[float, int, str, Callable[[], Any]]] = []
        self._count = itertools.count()
        for _ in range(random.randrange(*FAULTS)):
            self._draw(random.random() * LASTS_S)

    def _at(self, at: float, what: str, do: Callable[[], Any]) -> None:
        heapq.heappush(self._due, (at, next(self._count), what, do))

    def _draw(self, at: float) -> None:
        random, site = self.random, self.site
        name = random.choice(self.names)
        back = at + random.choice([0.0, 0.0, random.random(), random.random() * 1.5 * STEP_S])
        what = random.choice(["kill", "kill", "pause", "kill server", "pause server", "network", "network", "double"])
        never = random.random() < 0.15 and name != self.lasting
        if what == "kill":
            self._at(at, f"kill {name}", lambda: self._kill(name, never=never))
            self._at(back, f"start {name}", lambda: self._start(name))
        elif what == "pause":
            self._at(at, f"pause {name}", lambda: site.peers[name].process.pause())
            self._at(back + 0.2, f"resume {name}", lambda: site.peers[name].process.resume())
        elif what == "kill server":
            self._at(at, what, site.server.kill)
            elsewhere = random.random() < 0.5
            self._at(min(back, at + 3), "start server", lambda: self._serve(elsewhere))
        elif what == "pause server":
            self._at(at, what, lambda: site.server.process and site.server.process.pause())
            self._at(min(back + 0.2, at + 4), "resume server", lambda: site.server.process and self._go_on())
        elif what == "network":
            proxy, end = self.proxies[name], min(back + 0.2, at + 5)
            way = random.choice(["cut", "client", "server", "swallow", "late", "refuse"])
            if way == "cut":
                self._at(at, f"cut {name}", proxy.cut)
            elif way in ("client", "server"):
                self._at(at, f"half-close {name} {way}", lambda: proxy.half_close(towards=way))
            elif way == "late":
                self._at(at, f"late {name}", lambda: setattr(proxy, "late_s", 0.2))
                self._at(end, f"in time {name}", lambda: setattr(proxy, "late_s", 0.0))
            elif way == "refuse":
                self._at(at, f"refuse {name}", lambda: (setattr(proxy, "refuse", True), proxy.cut()))
                self._at(end, f"let {name} in", lambda: setattr(proxy, "refuse", False))
            else:
                self._at(at, f"swallow {name}", lambda: proxy.swallow(True))
                self._at(end, f"pass {name}", lambda: proxy.swallow(False))
        elif random.random() < 0.5 and name != self.lasting:
            self._at(at, f"double {name}", lambda: self._stand(name, place=f"{name}-too"))

    def _stand(self, name: str, place: str | None = None) -> None:
        member: dict[str, Any] = next(m for m in self.scenario["members"] if m["name"] == name)
        script = {key: value for key, value in member.items() if key != "name"}
        self.site.stand(name, script, url=self.proxies[name].url, place=place, pause_s=self.pauses[name])

    def _kill(self, name: str, *, never: bool) -> None:
        self.site.peers[name].process.kill()
        if never:
            self.dead.add(name)

    def _start(self, name: str) -> None:
        if name not in self.dead and self.site.peers[name].process.code is not None:
            self.site.peers[name].start()

    def _serve(self, elsewhere: bool) -> None:
        if not self.site.server.running:
            self.site.server.start(elsewhere=elsewhere)

    def _go_on(self) -> None:
        assert self.site.server.process is not None
        self.site.server.process.resume()

    def run(self) -> str:
        """Let everybody stand, open the room, let the faults happen; return the room once it has ended."""
        for name in self.names:
            self._stand(name)
        for peer in list(self.site.peers.values()):
            peer.stands()
        room = self.site.open(self.scenario)
        began = time.monotonic()
        while self._due:
            at, _, what, do = heapq.heappop(self._due)
            time.sleep(max(0.0, began + at - time.monotonic()))
            self.told.append(f"{at:.2f} {what}")
            do()
        Path(self.site.folder / "schedule").write_text("\n".join(self.told), encoding="utf-8")
        if not self.site.server.running:
            self.site.server.start()
        for name in self.names:
            self._start(name)

        def ended() -> bool:
            fold = self.site.fold(room, self.lasting)
            time.sleep(0.5)
            return fold.room.over

        until(ended, f"{room} is over", 3 * PATIENCE_S)
        return room
