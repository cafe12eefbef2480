"""Run snakemake --lint; findings with a stated reason are left out."""

import subprocess
import sys

REASONS = {
    "Specify a conda environment or container for each rule.": (
        "the study runs in one environment, which make env or environment.yml makes as a whole, "
        "so that no two steps can differ in a version"
    )
}


def remaining(findings: str) -> list[str]:
    """Return the findings without a reason, each as ``place: title``."""
    left, place = [], "the workflow"
    for line in findings.splitlines():
        if line.startswith("Lints for "):
            place = line.removeprefix("Lints for ").rstrip(":")
        elif line.startswith("    * "):
            title = line.strip("* ").rstrip(":")
            if title not in REASONS:
                left.append(f"{place}: {title}")
    return left


def main() -> int:
    """Lint the workflow; return 1 where something is left."""
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint"], capture_output=True, text=True
    )
    if done.returncode and "Lints for " not in done.stderr:
        sys.stderr.write(done.stderr)
        return 1
    left = remaining(done.stderr)
    print("\n".join(left) if left else "snakemake --lint: nothing left without a stated reason")
    return bool(left)


if __name__ == "__main__":
    sys.exit(main())
