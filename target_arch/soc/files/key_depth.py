"""Dotted keys of TOML with very many parts, found before `tomllib` reads them."""

import re

from target_arch.soc.files.positions import Range

_TOKEN = re.compile(
    r"""(?P<long>\"{3}(?:[^\\]|\\.)*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z))"""
    r"""|(?P<part>"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[A-Za-z0-9_-]++|[ \t]++)"""
    r"""|(?P<dot>\.)|(?P<other>\#[^\n]*+|.)""",
    re.DOTALL,
)


def longest_key(text: str, most: int) -> Range | None:
    """The place of a dotted key of more than `most` parts, up to the first too many; None without one."""
    if all(line.count(".") < most for line in text.split("\n")):
        return None
    start, dots = 0, 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "dot":
            dots += 1
            if dots >= most:
                return start, token.end()
        elif token.lastgroup != "part":
            start, dots = token.end(), 0
    return None
