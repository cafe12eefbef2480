"""Judge the registrations, and their power at the scatter that was seen."""

from pathlib import Path

from orla import catalogue
from orla.errors import OrlaError
from orla.files import sha256
from orla.jobs import job
from orla.prereg import binding, demands, judge, lock, power, reader
from orla.provenance import collect
from orla.provenance.tables import merge_provenances, read_table, write_table
from orla.study.config import plan_from_config
from orla.study.verification import faulty_results

params = snakemake.params
with job(snakemake.log[0], snakemake.output.verdicts, "statistics"):
    folders = [Path(path).parent for path in snakemake.input.locks]
    # A registration that differs from its lock is refused.
    locks = {
        name: locked for folder in folders for name, locked in lock.verify_folder(folder).items()
    }
    registered = reader.read_folders(folders)
    tables = {path: read_table(path) for path in snakemake.input.tables}
    by_name = {Path(path).stem: table for path, table in tables.items()}
    provenances = {path: table.attrs["provenance"] for path, table in tables.items()}
    digests = " ".join(map(sha256, snakemake.input.locks))
    for path, source in provenances.items():
        if not source.get("inputs"):
            raise OrlaError(f"{path}: names no file that it was made from; make it by the workflow")
    claims = [each for each in registered if params.study in each.studies]
    plan = plan_from_config(snakemake.config)
    catalogue.use_plugins(plan.config.get("plugins", []))
    # Fingerprints are of the present code, which is therefore what results were made by.
    run = [c for each in claims for c in demands.compared_and_checked_conditions(plan, each)]
    roots = binding.code_roots(plan, run)
    provenances["the present code"] = collect.collect(
        "orla.prereg.power", *roots, prereg_lock_sha256=digests
    )
    mixed = ""
    try:
        source = merge_provenances(provenances)
    except OrlaError as error:
        if not params.allow_mixed:
            raise
        mixed = str(error)  # provenance.allow_mixed lets them stand in a table, not in a verdict
        source = merge_provenances(provenances, allow_mixed=True)
    bindings = {name: dict(bound) for name, bound in params.bindings.items()}
    # Nothing is judged over results that were exchanged since tables were made of them.
    results = Path(snakemake.output.verdicts).parent
    if wrong := list(faulty_results(plan, results, check_left_over=False)):
        raise OrlaError(f"{wrong[0]} ({len(wrong)} such results)")
    cached_results = {}  # of the parts that several registrations depend on
    for each in claims:
        bindings[each.name] |= binding.behaviour_fingerprints(plan, each, cached_results)
        if each.binds.get("recordings"):
            bindings[each.name]["recordings"] = binding.recording_hashes(plan, each)
        bindings[each.name]["results"] = str(results)
        networks = {c.architecture for c in demands.compared_conditions(plan, each)}
        bindings[each.name]["networks"] = sorted(networks)
        # True, or more than one answer.
        bindings[each.name]["uncommitted"] = bool(source["code"].get("dirty"))
    verdicts = judge.verdict_table(
        registered,
        by_name,
        locks,
        study=params.study,
        bindings=bindings,
        datasets=source.get("datasets", {}),
        provenance_difference=mixed,
    )
    inputs = list(snakemake.input)
    write_table(verdicts, snakemake.output.verdicts, source, inputs)
    write_table(power.power_table(claims, by_name), snakemake.output.power, source, inputs)
