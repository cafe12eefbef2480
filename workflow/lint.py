"""Run snakemake --lint; findings with a stated reason are left out."""

import subprocess
import sys

# The study runs in one environment, which make env or environment.yml makes as a whole, so that no
# two steps can differ in a version.
EXCUSED = "Specify a conda environment or container for each rule."


def remaining(findings: str) -> list[str]:
    """Return the findings without a reason, each as ``place: title``."""
    left, place = [], "the workflow"
    for line in findings.splitlines():
        if line.startswith("Lints for "):
            place = line.removeprefix("Lints for ").rstrip(":")
        elif line.startswith("    * ") and (title := line.strip("* ").rstrip(":")) != EXCUSED:
            left.append(f"{place}: {title}")
    return left


if __name__ == "__main__":
    command = [sys.executable, "-m", "snakemake", "--lint"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "Lints for " not in done.stderr:
        sys.exit(done.stderr)
    if left := remaining(done.stderr):
        sys.exit("\n".join(left))
    print("snakemake --lint: nothing left without a stated reason")
