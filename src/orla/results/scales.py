"""The units in which two learners are compared, and the columns that hold each."""

from dataclasses import dataclass

VARIANTS = {
    "": "",
    "frozen": "diverged models scored as the frozen network",
    "runner_up_full": "its first learner at the runner-up of its rates",
    "runner_up_immediate": "its second learner at the runner-up of its rates",
    "without_failing": "the pairs without guards",
}
"""Variants of a gap, in words; the first is the gap itself. The runner-up is the rate with the
second lowest error of validation where the two are within one standard error, else the chosen one.
"""


@dataclass(frozen=True)
class Scale:
    """One unit, and patterns of columns.

    Attributes:
        gap, end: of a variant of a gap, and of the ends of its interval at 1 - 2 alpha.
        test: of its intervals and tests, with the unit and without.
        count: of the number of units with a gap; {} is what they are.
    """

    unit: str
    gap: str
    end: str
    test: tuple[str, str]
    count: str

    def gap_column(self, variant: str = "") -> str:
        """Column of this variant of the gap."""
        return self.gap.format(f"_{variant}" if variant else "")

    def ends_pattern(self, variant: str = "") -> str:
        """Pattern of the columns of the ends of its interval at 1 - 2 alpha."""
        return self.end.format("{}", f"_{variant}" if variant else "")

    def test_column(self, name: str) -> str:
        """Column of the test's `name`, such as "standard_error"."""
        return self.test[name in ("dof", "tost_p", "equivalent")].format(name)


PP = Scale("pp", "gap{}_pp", "t90_{}{}_pp", ("{}_pp", "{}"), "n_{}s")
"""Recovery in percentage points: the first learner's minus the second's."""

VARIANCE = Scale("variance", "error_gap{}", "error_t90_{}{}", ("error_{}",) * 2, "error_n_{}s")
"""Held-out error in units of the target's variance: the second learner's minus the first's, so that
it is positive where the first is better, as with recovery."""

SCALES = {scale.unit: scale for scale in (PP, VARIANCE)}
