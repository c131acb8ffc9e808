"""Words of C text, with the lines of `#if` that are for a GPU left out.

>>> [token.text for token in tokens("x += 2.0f; // twice")]
['x', '+=', '2.0f', ';', '']
"""

from __future__ import annotations

import re
from typing import NamedTuple


class CTextError(Exception):
    """Something of C++ that is not understood, and the line of the text that it is on."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")


class Token(NamedTuple):
    """A word: `kind` is "name", "number", "string", "operator" or, once, "end"."""

    kind: str
    text: str
    line: int


_PATTERN = re.compile(
    r"""(?P<space>[ \t\r\f\v\\]+|//[^\n]*|/\*.*?\*/)
    |(?P<line>\n)
    |(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFuUlLhH]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<operator><<=|>>=|\+\+|--|->|::|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)
_GPU_ONLY = re.compile(r"#\s*(?:ifdef\s+__CUDA_ARCH__|if\s+defined\s*\(?\s*__CUDA_ARCH__\s*\)?)\s*$")
_CPU_ONLY = re.compile(r"#\s*(?:ifndef\s+__CUDA_ARCH__|if\s+!\s*defined\s*\(?\s*__CUDA_ARCH__\s*\)?)\s*$")


def tokens(text: str) -> list[Token]:
    """The words of a text, an "end" last. Raises `CTextError`."""
    text = _for_the_cpu(text)
    found: list[Token] = []
    position, line = 0, 1
    while position < len(text):
        match = _PATTERN.match(text, position)
        if match is None:
            raise CTextError(f"`{text[position]}` is not understood", line)
        kind = match.lastgroup or ""
        if kind not in ("space", "line"):
            found.append(Token(kind, match.group(), line))
        line += match.group().count("\n")
        position = match.end()
    found.append(Token("end", "", line))
    return found


def _for_the_cpu(text: str) -> str:
    """The text as a CPU's compiler reads it: one program runs on both, so that both give the same."""
    lines = text.split("\n")
    # For each `#if` that is open: whether its lines count.
    open_: list[bool] = []
    for n, line in enumerate(lines):
        word = line.strip()
        is_directive = word.startswith("#")
        if is_directive and (_GPU_ONLY.match(word) or _CPU_ONLY.match(word)):
            open_.append(_CPU_ONLY.match(word) is not None)
        elif is_directive and open_ and re.match(r"#\s*else\b", word):
            open_[-1] = not open_[-1]
        elif is_directive and open_ and re.match(r"#\s*endif\b", word):
            open_.pop()
        elif is_directive and all(open_):
            raise CTextError(f"`{word}` is not supported", n + 1)
        if is_directive or not all(open_):
            lines[n] = ""
    return "\n".join(lines)
