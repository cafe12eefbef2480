"""Compiles LaTeX that the tables write."""

import shutil
import subprocess
from pathlib import Path

PDFLATEX = shutil.which("pdflatex")


def compile_latex(
    folder: Path, body: str, packages: str = r"\usepackage{booktabs,graphicx}"
) -> str:
    document = rf"\documentclass{{article}}{packages}\begin{{document}}{body}\end{{document}}"
    (folder / "minimal.tex").write_text(document, encoding="utf-8")
    command = [PDFLATEX, "-halt-on-error", "-interaction=nonstopmode", "minimal.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-1500:]
    return done.stdout


# What a table is before it is scaled to the width of the page.
UNSCALED = r"\usepackage{booktabs}\newcommand{\resizebox}[3]{#3}"
