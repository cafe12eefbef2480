"""Write an episode, from a pair's streams or from a synthetic task."""

from orla import catalogue
from orla.errors import logged
from orla.sessions.streams import Streams

with logged(snakemake.log[0]):
    catalogue.use_plugins(snakemake.params.plugins)
    task, split = catalogue.make("task", snakemake.params.task), snakemake.wildcards.split
    if task.needs_files:
        episode = task.cut(Streams.load(snakemake.input.streams), split)
    else:
        episode = task.episode(split, range(snakemake.params.seeds))
    episode.save(snakemake.output.episode)
