"""The one place that knows the compiler options of a kernel."""

import gc
import signal
from collections.abc import Callable
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from threading import current_thread, main_thread
from time import thread_time
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numba.extending import register_jitable
from numpy.typing import NDArray

from unirel._runtime import COMPILING

Function = TypeVar("Function", bound=Callable[..., Any])
# A twin in numpy works on arrays of at most so many values, and for so many seconds of a process: fewer if the machine
# code is on the disk and has only to be loaded.
FEW_VALUES, _PATIENCE, _PATIENCE_IF_COMPILED = 2**17, 0.6, 0.05
Floats = NDArray[Any]
Integers = NDArray[Any]


class _Listener(event.Listener):
    """Passes on when numba compiles; it is not heard of what comes from the disk.

    Meanwhile no garbage is collected: numba makes so many objects that all those of the process would be looked through
    several times, which takes a tenth of the time and frees little. Only one thread can compile at a time.
    """

    def __init__(self) -> None:
        # For each kernel that is being compiled, on behalf of the one before it, whether garbage was collected.
        self._collecting: list[bool] = []

    def on_start(self, _: event.Event) -> None:
        self._collecting.append(gc.isenabled())
        gc.disable()
        COMPILING.begin()

    def on_end(self, _: event.Event) -> None:
        COMPILING.end()
        if self._collecting.pop():
            gc.enable()


class _Patience(event.Listener):
    """Holds Ctrl-C back while numba compiles a kernel or loads it from the disk, and raises it right afterwards.

    LLVM calls back into Python meanwhile, and what is raised there is printed and forgotten. A signal that is ignored
    stays so, and other threads never see Ctrl-C.
    """

    def __init__(self) -> None:
        self._depth, self._heard = 0, False
        self._handler: Any = None  # whose turn it is afterwards

    def on_start(self, _: event.Event) -> None:
        if current_thread() is not main_thread():
            return
        if self._depth == 0:
            self._heard = False
            self._handler = signal.getsignal(signal.SIGINT)
            if callable(self._handler):
                signal.signal(signal.SIGINT, self._hear)
        self._depth += 1

    def on_end(self, _: event.Event) -> None:
        if current_thread() is not main_thread():
            return
        self._depth -= 1
        if self._depth == 0 and callable(self._handler):
            signal.signal(signal.SIGINT, self._handler)
            if self._heard:
                self._handler(signal.SIGINT, None)

    def _hear(self, *_: Any) -> None:
        self._heard = True


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]
event.register("numba:compiler_lock", _Patience())  # type: ignore[no-untyped-call]

_package = Path(__file__).parents[1]
_files = sorted([Path(__file__), *_package.rglob("kernels.py"), *_package.rglob("kernels/*.py")])
_SOURCES = sha256(b"".join(path.read_bytes() for path in _files)).hexdigest()[:12]


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, without the GIL, and keep the machine code on disk.

    ``fastmath`` stays off: neighbour counts hang on exact comparisons and on infinities. Machine code is found by the
    qualified name, and numba looks only at the file of the kernel itself: with a hash of all of them in the name, no
    edit of what a kernel calls leaves old machine code behind.
    """
    function.__qualname__ = f"{function.__qualname__}_{_SOURCES}"
    return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy")(function))


def kernel_after(twin: Callable[..., Any]) -> Callable[[Function], Function]:
    """Compile a function, or load it from the disk, once its `twin` in numpy has taken some time in this process.

    The twin does the same to the last bit, so that nobody sees which of them it was. Compiling a kernel takes up to a
    second, which small tables never earn back.
    """

    def decorate(function: Function) -> Function:
        compiled, spent = kernel(function), 0.0

        @cache
        def is_on_disk() -> bool:
            folder = Path(compiled.stats.cache_path)  # type: ignore[attr-defined]
            return any(folder.glob(f"*{function.__qualname__}-*.nbi"))

        @wraps(function)
        def call(*arguments: Any) -> Any:
            nonlocal spent
            early = spent > _PATIENCE_IF_COMPILED and is_on_disk()
            large = any(isinstance(one, np.ndarray) and one.size > FEW_VALUES for one in arguments)
            if large or early or spent > _PATIENCE:
                return compiled(*arguments)
            begun = thread_time()
            try:
                return twin(*arguments)
            finally:
                spent += thread_time() - begun

        call.compiled, call.twin = compiled, twin  # type: ignore[attr-defined]
        return cast(Function, call)

    return decorate


def inner(function: Function) -> Function:
    """Let kernels call `function`: each keeps its machine code in its own. Called from Python it is plain Python."""
    # Nobody calls it from Python or C, so these entrances need not be compiled.
    return register_jitable(error_model="numpy", no_cfunc_wrapper=True, no_cpython_wrapper=True)(function)


@inner
def zero() -> int:
    """0 like any other number. A plain 0 is a type of its own, and a kernel that is given one is compiled once more."""
    return int(np.int64(0))
