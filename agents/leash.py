"""A process between a peer and a user's command, so that nothing of the command outlives the peer.

It is run by path, not imported: it uses only the standard library and starts in milliseconds. The command leads a
process group that contains everything it starts. When the other end of the given pipe closes, however its holder ended,
or when the command exits, the whole group is killed. The exit code is the command's, or 128 plus the signal that ended
it.

Usage: ``leash.py PIPE_FD COMMAND…``
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

CANNOT_START = 127


def main() -> int:
    """Run the command until it exits or the pipe closes; return its code."""
    pipe, *command = sys.argv[1:]
    try:
        process = subprocess.Popen(command, process_group=0, preexec_fn=_die_with(os.getpid()))  # noqa: PLW1509
    except (OSError, ValueError) as error:
        print(f"cannot start {command[0]}: {error}", file=sys.stderr)
        return CANNOT_START
    # The peer must see when the command closes its own ends; copies that are open here would hide that.
    for inherited in range(3):
        os.close(inherited)
    threading.Thread(target=_watch, args=(int(pipe), process.pid), daemon=True).start()
    os.waitid(
        os.P_PID, process.pid, os.WEXITED | os.WNOWAIT
    )  # Until it is reaped, nobody else can have its group's number.
    _kill(process.pid)
    code = process.wait()
    return 128 - code if code < 0 else code


def _die_with(leash: int) -> Callable[[], None]:
    """Return a function with which Linux ends the command if this process itself is killed."""
    if sys.platform != "linux":
        return lambda: None
    import ctypes

    prctl = ctypes.CDLL(None).prctl

    def die_with() -> None:
        parent_death_signal = 1
        prctl(parent_death_signal, signal.SIGKILL)
        if os.getppid() != leash:
            os._exit(CANNOT_START)

    return die_with


def _watch(pipe: int, group: int) -> None:
    while os.read(pipe, 1):
        pass
    _kill(group)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    os._exit(main())
