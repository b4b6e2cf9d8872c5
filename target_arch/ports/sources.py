"""The C of a shipped port, as its value hands it out."""

from collections.abc import Callable, Mapping

from target_arch.resources import c_files, runtime_c


def sources(*folders: str) -> Callable[[], Mapping[str, str]]:
    """A function that reads these folders of `runtime_c`: path below `runtime/` → text."""

    def read() -> Mapping[str, str]:
        return {
            path: text for folder in folders for path, text in c_files(runtime_c() / folder, folder).items()
        }

    return read


def some(*paths: str) -> Callable[[], Mapping[str, str]]:
    """A function that reads these files of `runtime_c`."""
    return lambda: {path: (runtime_c() / path).read_text(encoding="utf-8") for path in paths}
