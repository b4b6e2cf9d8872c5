"""C identifiers for things that people and models name freely."""

import re
from collections.abc import Iterable, Mapping

_LONGEST = 48  # C99 promises 63 significant characters; prefixes and suffixes need the rest

_KEYWORDS = frozenset(
    (
        "asm",
        "auto",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "class",
        "const",
        "continue",
        "default",
        "delete",
        "do",
        "double",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "operator",
        "private",
        "protected",
        "public",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "true",
        "try",
        "typedef",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "while",
    )
)

_HEADERS = frozenset(
    (
        *("alloca", "assert", "byteswap", "complex", "config", "ctype", "dlfcn", "endian", "errno", "fcntl"),
        *(
            "features",
            "fenv",
            "float",
            "ieeefp",
            "immintrin",
            "inttypes",
            "iso646",
            "limits",
            "locale",
            "lock",
        ),
        *("math", "newlib", "poll", "pthread", "reent", "sched", "setjmp", "signal", "spawn", "stdalign"),
        *("stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib", "stdnoreturn", "string"),
        *("strings", "tgmath", "threads", "time", "types", "uchar", "unistd", "wait", "wchar", "wctype"),
    )
)
"""Headers of C libraries, of C and what these include: a header of a bundle would be found in their place."""


def header_stem(name: str) -> str:
    """An identifier as `identifier` makes it that can be the name of a header, too."""
    text = identifier(name)
    return f"{text}_model" if text.lower() in _HEADERS else text


def identifier(name: str) -> str:
    """A C and C++ identifier that resembles the name: `model/conv2d;1` gives `model_conv2d_1`."""
    text = re.sub(r"_+", "_", re.sub(r"[^0-9A-Za-z]", "_", name)).strip("_")[:_LONGEST].rstrip("_")
    if not text or text[0].isdigit():
        return f"n{text}"
    return f"{text}_" if text in _KEYWORDS else text


def identifiers(names: Iterable[str]) -> Mapping[str, str]:
    """One identifier per name, all different: the second that collides gets `_2`, and so on."""
    taken: set[str] = set()
    chosen: dict[str, str] = {}
    for name in names:
        if name in chosen:
            continue
        stem = text = identifier(name)
        number = 1
        while text in taken:
            number += 1
            text = f"{stem}_{number}"
        taken.add(text)
        chosen[name] = text
    return chosen


def comment(text: str) -> str:
    """The text made safe inside a C comment on one line."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")


def string(text: str) -> str:
    """The text as a C string literal."""
    safe = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8")
    )
    return '"' + "".join(safe) + '"'
