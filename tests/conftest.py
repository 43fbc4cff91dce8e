"""What no test leaves behind in the home of whoever runs it."""

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.support")
pytest_plugins = ["tests.support.fixtures"]


@pytest.fixture(autouse=True, scope="session")
def _state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what commands keep of a key in a folder of the tests' own, in this process and those it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
