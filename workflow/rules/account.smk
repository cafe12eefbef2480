# What a run is going to take, said before it; and what it took, said after it.
import time

from orla.provenance import account

BEGAN = time.time()
# Steps of a session that nobody has read yet: half an hour of 50 ms.
USUAL_STEPS = 36_000


def steps_of(condition):
    """About how many steps a model of a condition adapts for."""
    if condition.domain not in PAIRS:
        return PLAN.option("task", condition.task, "adapt") or 0
    spec = STUDY["tasks"][condition.task]
    share = spec.get("parts", {}).get("splits", {}).get(condition.split, 0.5)
    seconds = spec.get("simulated", {}).get("task", {}).get("duration_b_s")
    bin_s = spec.get("preparation", {}).get("bin_s", 0.05)
    return int(share * (seconds / bin_s if seconds else USUAL_STEPS))


def forecast():
    """The parts that have no result yet, and about what they take; "" where all have one."""
    parts = [p for p in RUN if not os.path.exists(f"{RESULTS}/{p.path}.parquet")]
    jobs = [
        [
            account.Planned(
                "exact" if PLAN.exact(c.learner) else PLAN.cadence(c.learner),
                # The grid grows by about one rate, which is scored at a fifth of the cost.
                steps=c.seeds * (len(PLAN.grid(c)) + 1) * steps_of(c),
                hidden=PLAN.spec("architecture", c.architecture).get("hidden", 64),
            )
            for c in part.conditions
        ]
        for part in parts
    ]
    compiled = not COMPUTE["compile"] or any(store.folder("programs").iterdir())
    programs = {(c.architecture, c.learner, c.optimizer) for p in parts for c in p.conditions}
    words = account.forecast(jobs, os.cpu_count(), 0 if compiled else len(programs))
    return f"{len(jobs)} jobs of adaptation to do: {words}" if jobs else ""


if FIRST_READING and (words := forecast()):
    store.say(words)


onsuccess:
    store.say(account.line(RESULTS, since=BEGAN))
