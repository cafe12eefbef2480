# The config, checked before anything runs: a mistake is one line that names the key.
import yaml

from orla import schema
from orla.study import conditions
from orla.errors import one_line

with one_line():
    schema.validate(
        config,
        yaml.safe_load(Path(workflow.basedir, "workflow/schemas/config.schema.yaml").read_text()),
        "config",
    )
    conditions.check(
        config["conditions"], config["architectures"], config["grids"], config["parts"]["splits"]
    )
    conditions.check_grids(config["grids"])
    conditions.check_horizons(
        config["horizons"], config["parts"], conditions.expand(config["conditions"])
    )
# Snakemake compares parameters as text, and an overlay's keys come first.
for key, value in conditions.ordered(config).items():
    config[key] = value
CONDITIONS = conditions.expand(config["conditions"])
