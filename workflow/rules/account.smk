# What a run is going to take, said before it; and what it took, said after it.
import time

from orla.provenance import account

BEGAN = time.time()
# Steps of a session that nobody has read yet: half an hour of 50 ms.
USUAL_STEPS = 36_000


def steps_of(condition):
    """About how many steps a model of a condition adapts for."""
    spec = STUDY["tasks"][condition.task]
    if condition.domain not in PAIRS:
        return spec.get(
            "adapt", PLAN.declaration("task", condition.task)["defaults"].get("adapt", 0)
        )
    share = spec.get("parts", {}).get("splits", {}).get(condition.split, 0.5)
    seconds = spec.get("simulated", {}).get("task", {}).get("duration_b_s")
    bin_s = spec.get("preparation", {}).get("bin_s", 0.05)
    return int(share * (seconds / bin_s if seconds else USUAL_STEPS))


def forecast():
    """The parts that have no result yet, and about what they take; "" where all have one."""
    parts = [p for p in RUN if not os.path.exists(f"{RESULTS}/{p.path}.parquet")]
    compiled = not COMPUTE["compile"] or any(store.folder("programs").iterdir())
    seen, jobs = set(), []
    for part in parts:
        jobs.append([])
        for c in part.conditions:
            program = c.architecture, c.learner, c.optimizer
            jobs[-1].append(
                account.Planned(
                    kind="exact" if PLAN.exact(c.learner) else PLAN.cadence(c.learner),
                    # The grid grows by about one rate, which is scored at a fifth of the cost.
                    steps=c.seeds * (len(PLAN.grid(c)) + 1) * steps_of(c),
                    hidden=PLAN.spec("architecture", c.architecture).get("hidden", 64),
                    programs=int(not compiled and program not in seen),
                )
            )
            seen.add(program)
    if not jobs:
        return ""
    return f"{len(jobs)} jobs of adaptation to do: {account.forecast(jobs, os.cpu_count())}"


if FIRST_READING and (words := forecast()):
    store.say(words)


onsuccess:
    store.say(account.line(RESULTS, since=BEGAN))
