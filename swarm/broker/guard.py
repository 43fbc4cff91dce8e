"""A process between a parent and its nats-server, so that neither server nor directory outlives the parent.

It is run by path, not imported: it uses only the standard library and starts in milliseconds. It is the server's
parent; its own parent holds the other end of its standard input. When that end closes, however its holder ended, it
stops the server (SIGTERM, then SIGKILL), removes the directory if that is temporary, and ends. It leads a session of
its own, so that Ctrl-C at the terminal reaches neither it nor the server.

Usage: ``guard.py LOCK_FD TEMPORARY_DIRECTORY_OR_EMPTY GRACE_SECONDS COMMAND…``
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time

POLL_SECONDS = 0.2
RELOAD_SIGNAL: int = getattr(signal, "SIGHUP", signal.SIGTERM)
"""Windows has none, and never sends it: the broker refuses to start there."""


def _die_with(guard: int) -> None:
    """In the child, before it becomes the server: let Linux end it if the guard itself is killed."""
    if sys.platform == "linux":
        import ctypes

        parent_death_signal = 1
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)


def main() -> int:
    """Guard until the parent is gone or the server has ended; return the server's exit code."""
    lock, temporary, grace_s, *command = sys.argv[1:]
    parent, guard = os.getppid(), os.getpid()
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # Only the parent's end counts; the server has its own handlers.
    server = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        # The server holds the directory's lock for as long as it lives, whatever becomes of parent and guard.
        pass_fds=(int(lock),),
        restore_signals=True,
        preexec_fn=lambda: _restore_and_die_with(guard),  # noqa: PLW1509  # this process has one thread
    )
    try:
        # A child that the parent forked may hold its end open too; then the parent's end shows in our parent's id.
        while server.poll() is None and os.getppid() == parent:
            if select.select([sys.stdin], [], [], POLL_SECONDS)[0] and not os.read(sys.stdin.fileno(), 1):
                break
    finally:
        if server.poll() is None:
            server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(float(grace_s))
        if server.poll() is None:
            server.kill()
            server.wait()
        if temporary:
            for _ in range(3):
                shutil.rmtree(temporary, ignore_errors=True)
                if not os.path.exists(temporary):
                    break
                time.sleep(POLL_SECONDS)
    return server.returncode


def _restore_and_die_with(guard: int) -> None:
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)
    _die_with(guard)


if __name__ == "__main__":
    sys.exit(main())
