"""Functions in processes of their own, which native code that they call may end."""

import multiprocessing
from collections.abc import Callable
from typing import Any


class Ended(Exception):
    """The process gave no result in time; `code` is its exit status, None where it was still running."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code


def apart(function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
    """The result of a function, which has so many seconds. Raises Ended where there is none."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sending.send(function(*arguments)))
    process.start()
    sending.close()
    try:
        if receiving.poll(seconds):
            return receiving.recv()
        raise Ended(None)
    except EOFError:
        process.join()
        raise Ended(process.exitcode) from None
    finally:
        process.kill()
        process.join()
