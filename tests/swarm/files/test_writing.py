"""Files are replaced whole, or written through where replacing would take something away."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from swarm.errors import BadInput
from swarm.files.writing import check_writable, held, replace_text, replacing


def test_what_stood_there_stays_until_all_of_the_new_is_there(tmp_path: Path) -> None:
    """Protects a reader, and whoever is interrupted: never half a file, and nothing left lying about."""
    path = tmp_path / "result"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"half")
        assert path.read_text() == "old"
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    with replacing(path, synced=True) as file:
        file.write(b"new")
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["result"]


def test_a_file_keeps_its_mode_and_a_private_one_is_private(tmp_path: Path) -> None:
    """Protects owners: what they allowed others stays so, and what is signed is never readable by others."""
    path = tmp_path / "result"
    path.write_text("")
    path.chmod(0o640)
    replace_text(path, "more", "result")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with replacing(path, private=True) as file:
        file.write(b"secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Protects what others point to: the file behind a link is replaced, not the link."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    replace_text(tmp_path / "link", "new", "result")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_and_a_pipe_are_written_through(tmp_path: Path) -> None:
    """Protects the machine: root's ``-o /dev/null`` once replaced the device."""
    null = Path("/dev/null")
    check_writable([null, null], None)
    replace_text(null, "gone", "result")
    assert stat.S_ISCHR(null.stat().st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable([pipe], None)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    replace_text(pipe, "through", "result")
    reader.join(10)
    assert read == ["through"] and stat.S_ISFIFO(pipe.stat().st_mode)


def test_one_process_holds_a_lock_and_its_end_frees_it(tmp_path: Path) -> None:
    """Protects a directory from two runs at once, and from staying locked after a kill."""
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom swarm.files.writing import held\n"
        "with held(Path(sys.argv[1]), 'taken'):\n    print('held', flush=True)\n    time.sleep(60)"
    )
    lock = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(BadInput, match="taken here"), held(lock, "taken here"):
            raise AssertionError("held twice")
        other.kill()
        other.wait(10)
    with held(lock, "taken here"):
        pass
