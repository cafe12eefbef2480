"""Plain text to LaTeX: reserved characters, and the signs that this package writes in Unicode."""

import re
import unicodedata

from orla.reports.numbers import bind_units

_SIGNS = "−×±≈≤≥≠‖Δβδµρθ∂→∞✓✗<>|"
_MATHEMATICS = (
    r"- \times \pm \approx \leq \geq \neq \| \Delta \beta \delta \mu \rho \theta \partial \to "
    r"\infty \surd \times < > |"
)
_COMMANDS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    '"': "''",
    "[": "{[}",  # a bare one after \\ would be read as that command's option
    "]": "{]}",
    "–": "--",
    "—": "---",
    "§": r"\S{}",
    "¶": r"\P{}",
    "†": r"\ensuremath{^{\dagger}}",
    "‡": r"\ensuremath{^{\ddagger}}",
    "ᵖ": r"\ensuremath{^{\mathrm{p}}}",
    "ᵏ": r"\ensuremath{^{\mathrm{k}}}",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "\u00a0": "~",
    "\n": " ",
    **{sign: "\\" + sign for sign in "{}$&%#_"},
    **{s: rf"\ensuremath{{{name}}}" for s, name in zip(_SIGNS, _MATHEMATICS.split(), strict=True)},
}
_TO_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_TOKEN = re.compile(
    r"(?P<sub>\b(?:[WgG]|ΔW)_(?:hh|ih|out|past|imm|full)\b)|(?P<sup>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)|(?P<one>.)",
    re.DOTALL,
)


def escape(text: str) -> str:
    """LaTeX that prints ``text`` by the kernel's own commands; an unknown sign by its code."""
    return "".join(_token_latex(match) for match in _TOKEN.finditer(bind_units(text)))


def _token_latex(match: re.Match[str]) -> str:
    if match["sub"]:
        base, index = match["sub"].split("_")
        base = base.replace("Δ", r"\Delta ")
        roman = index if index in ("hh", "ih") else rf"\mathrm{{{index}}}"
        return rf"\ensuremath{{{base}_{{{roman}}}}}"
    if match["sup"]:
        return rf"\ensuremath{{^{{{match['sup'].translate(_TO_DIGITS)}}}}}"
    character = match["one"]
    if character in _COMMANDS:
        return _COMMANDS[character]
    if character.isascii():
        return character if character.isprintable() else " "
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    if len(plain) == 1 and "\u00c0" <= character <= "\u017f":
        return character  # accented Latin letters are in every LaTeX since 2018
    return f"{{[}}U+{ord(character):04X}{{]}}"
