# What a run is going to take, said before it; and what it took, said after it.
import time

from orla.provenance import cost

BEGAN = time.time()


def forecast():
    """The parts that have no result yet, and about what they take; "" where all have one."""
    parts = [p for p in RUN if not os.path.exists(f"{RESULTS}/{p.path}.parquet")]
    if not parts:
        return ""
    jobs = [cpu_s(part) for part in parts]
    if COMPUTE["compile"] and not os.path.exists(f"{RESULTS}/programs.txt"):
        jobs.append(foreseen().compiling_cpu_s([c for part in parts for c in part.conditions]))
    adapted = sum(len(part.conditions) for part in parts)
    words = cost.forecast_text(jobs, os.cpu_count())
    return f"{adapted} conditions to adapt in {len(parts)} jobs: {words}"


if FIRST_READING and (words := forecast()):
    store.say(words)


onsuccess:
    store.say(cost.cpu_summary(RESULTS, since=BEGAN))
