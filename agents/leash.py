"""What stands between a peer and a command of a user's, so that nothing of the command outlives the peer.

Run by path, not imported: it uses the standard library only and starts in milliseconds. It leads a process group that
holds the command and all that the command starts. When the other end of the pipe that it is given closes, however its
holder ended, the whole group is killed. When the command ends first it ends with the same code, 128 and the signal
where that was one.

Usage: ``leash.py PIPE_FD COMMAND…``
"""

import os
import signal
import subprocess
import sys
import threading

CANNOT_START = 127


def main() -> int:
    """Run the command until it ends or the pipe closes; return its code."""
    pipe, *command = sys.argv[1:]
    try:
        process = subprocess.Popen(command)
    except (OSError, ValueError) as error:
        print(f"cannot start {command[0]}: {error}", file=sys.stderr)
        return CANNOT_START
    # The command's own ends of these count: were they open here too, its closing them would not show.
    for inherited in range(3):
        os.close(inherited)
    threading.Thread(target=_watch, args=(int(pipe),), daemon=True).start()
    code = process.wait()
    return 128 - code if code < 0 else code


def _watch(pipe: int) -> None:
    while os.read(pipe, 1):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    os._exit(main())
