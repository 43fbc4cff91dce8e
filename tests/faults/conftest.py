"""A site for faults that ends with its test, and shows where the evidence is when that fails."""

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from tests.support.fault_site import Site, end_all

SITES = pytest.StashKey[list[Site]]()


@pytest.fixture
def sites(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Make sites, each in a folder of its own; all they have started ends with the test."""
    made: list[Site] = []
    request.node.stash[SITES] = made

    def make(*names: str, **options: Any) -> Site:
        folder = Path(mkdtemp(prefix="site", dir=tmp_path))
        made.append(Site(folder, names or ("ann", "bob", "cid", "dan"), **options))
        return made[-1]

    yield make
    end_all()
    for site in made:
        for proxy in site.proxies:
            proxy.close()


@pytest.fixture
def site(sites: Callable[..., Site]) -> Site:
    """A server that lets ann, bob, cid and dan in."""
    return sites()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for site in item.stash.get(SITES, []):
            report.sections.append(("what is left of the site", site.evidence()))
    return report
