# Registrations, and their verdicts.

from orla.prereg import binding, lock, registration

FOLDERS = [Path(folder) for folder in config["registrations"]["folders"]]
REGISTERED = ["heldout", *STATISTICS]
# Values of these columns for a registration that names none.
ASSUMED = DEFAULTS | {
    key: value for key, value in config["registrations"]["assume"].items() if value is not None
}
# Hashes of the config and code of this study, for registrations that bind theirs.
with one_line():
    lock.require(FOLDERS)
    BINDINGS = binding.of_all(
        PLAN, [known for folder in FOLDERS for known in registration.read_all(folder)]
    )


rule verdict:
    input:
        registrations=sorted(file for folder in FOLDERS for file in folder.glob("*.yaml")),
        amendments=sorted(
            file for folder in FOLDERS for file in (folder / "amendments").glob("*.yaml")
        ),
        locks=[folder / "LOCK" for folder in FOLDERS],
        tables=expand("<results>/{table}.parquet", table=REGISTERED),
    output:
        verdicts="<results>/verdicts.parquet",
    log:
        "<logs>/verdict.log",
    benchmark:
        "<benchmarks>/verdict.tsv"
    threads: 1
    resources:
        mem_mb=500,
    params:
        study=config["name"],
        assumed=ASSUMED,
        bindings=BINDINGS,
        allow_mixed=config["provenance"]["allow_mixed"],
        code=code("orla.prereg.judge", "orla.prereg.lock"),
    message:
        "Judging the registrations"
    script:
        "../scripts/judge.py"
