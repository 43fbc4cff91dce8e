"""The one room that all fuzzers change."""

import pytest

from tests.support.fuzz_rooms import Script, further, script


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return further(script(tmp_path_factory.mktemp("fuzz")))
