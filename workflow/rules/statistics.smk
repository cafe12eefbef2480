# From adapted models to statistics and verdicts.
from orla.prereg import binding, demands, lock, reader

# The part of the config that the models depend on, for the tables' provenance.
MODELS_OF = ("tasks", "networks", "pretraining", "grids", "compute", "provenance")
# Of every condition of the study its place in the config.
ORDER = {c: i for i, c in enumerate(PLAN.conditions)}
# The learners that stand for full RTRL: those of the study that declare themselves exact.
EXACT = [*filter(PLAN.is_exact, dict.fromkeys(c.learner for c in CONDITIONS))]
FOLDERS = [Path(folder) for folder in STUDY["registrations"]["folders"]]
# What this study binds, for its registrations; the job of the verdict adds its behaviour.
with exit_in_one_line():
    lock.require_lock_files(FOLDERS)
    REGISTERED = reader.read_folders(FOLDERS)
    BINDINGS = binding.config_bindings(PLAN, REGISTERED)


rule statistics:
    input:
        **({"peers": "<results>/peers.parquet"} if PEERED else {}),
        tables=[f"<results>/{part.path}.parquet" for part in RUN],
        traces=[f"<results>/{part.path}.npz" for part in RUN],
    output:
        expand("<results>/{name}.parquet", name=[*WIDE, *STATISTICS]),
    log:
        "<logs>/statistics.log",
    resources:
        mem_mb=2000,
    params:
        expected=[[c.keys for c in part.conditions] for part in RUN],
        order=[ORDER[c] for c in CONDITIONS],
        study={key: STUDY[key] for key in MODELS_OF},
        exact=EXACT,
        statistics=STUDY["statistics"],
        comparisons=STUDY["comparisons"],
        quantities=STUDY.get("quantities", {}),
        allow_mixed=ALLOW_MIXED,
        plugins=PLUGINS,
        code=code(
            "orla.study.adaptation",
            "orla.results.frames",
            "orla.results.base",
            parts=[("statistic", name) for name in STATISTICS],
        ),
    message:
        "Comparing learners over seeds and pairs"
    script:
        "../scripts/gather.py"


rule verdict:
    input:
        registrations=sorted(file for folder in FOLDERS for file in folder.glob("*.yaml")),
        amendments=sorted(
            file for folder in FOLDERS for file in (folder / "amendments").glob("*.yaml")
        ),
        locks=[folder / "LOCK" for folder in FOLDERS],
        # Without conditions nothing is judged; the verdicts know the data all the same.
        tables=expand(
            "<results>/{table}.parquet",
            table=["heldout", *STATISTICS] if CONDITIONS else sorted(MADE - {"verdicts", "power"}),
        ),
    output:
        verdicts="<results>/verdicts.parquet",
        power="<results>/power.parquet",
    log:
        "<logs>/verdict.log",
    resources:
        mem_mb=1500,
    params:
        study=STUDY["name"],
        bindings=BINDINGS,
        allow_mixed=ALLOW_MIXED,
        code=code(
            *("orla.prereg.judge", "orla.prereg.lock", "orla.prereg.power"),
            "orla.prereg.fingerprint",
        ),
    message:
        "Judging the registrations"
    script:
        "../scripts/verdict.py"
