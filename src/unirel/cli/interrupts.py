"""Ctrl-C on the command line: heard at any moment and answered in one line within two seconds."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

CODE = 130
NOTHING = "interrupted before there was anything to print"
# How long a command has to end by itself, with what it has found.
_PATIENCE = 1.5


class _Interrupts:
    """What is known of Ctrl-C.

    Python raises KeyboardInterrupt in the main thread, but that alone is not enough. It waits while compiled code works
    for minutes; imports that compiled code asks for swallow it, or make another error of it; in a destructor
    it is printed and forgotten. The system, however, writes a byte to a socket at once, and a thread reads it: it
    remembers what was heard, and ends the program if nobody has answered in time.
    """

    def __init__(self) -> None:
        self.heard = False
        self.answered = False

    @property
    def pending(self) -> bool:
        """Whether Ctrl-C was heard, and nobody has done anything about it."""
        return self.heard and not self.answered

    def answer(self) -> None:
        """Whoever calls this ends the command: what was found is about to be printed."""
        self.answered = True

    def stop_if_pending(self) -> None:
        """Raise again what was swallowed."""
        if self.pending:
            raise KeyboardInterrupt

    def watch(self, reader: socket.socket) -> None:
        """Read what the system writes, until the socket is closed."""
        while received := _receive(reader):
            if received == bytes([signal.SIGINT]):
                if self.heard:  # asked twice
                    end_now(NOTHING)
                self.heard = True
                reader.settimeout(_PATIENCE)
            elif received == _LATE and not self.answered:
                end_now(NOTHING)

    def reset(self) -> None:
        """Forget everything."""
        self.heard = self.answered = False


_LATE = b"late"
interrupts = _Interrupts()


def _receive(reader: socket.socket) -> bytes:
    try:
        return reader.recv(1)
    except TimeoutError:
        reader.settimeout(None)
        return _LATE
    except OSError:  # closed
        return b""


@contextmanager
def listening() -> Iterator[None]:
    """Hear Ctrl-C from now on; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupts.reset()
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before, hook = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False), sys.unraisablehook
    sys.unraisablehook = lambda one: None if one.exc_type is KeyboardInterrupt else hook(one)
    watcher = threading.Thread(target=interrupts.watch, args=(reader,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        sys.unraisablehook = hook
        writer.close()  # which ends the thread
        watcher.join()
        reader.close()


def end_now(line: str = "") -> NoReturn:
    """End the program without waiting for anybody: neither for compiled code nor for other processes."""
    multiprocessing: Any = sys.modules.get("multiprocessing")
    for child in multiprocessing.active_children() if multiprocessing else ():
        # By the system: those of joblib have no method kill. One that has just ended is no reason to stay.
        with suppress(OSError):
            os.kill(child.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    if line:
        os.write(2, f"unirel: {line}\n".encode())
    os._exit(CODE)
