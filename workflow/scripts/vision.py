"""Train the network of images, or adapt it by one optimizer."""

from orla.jobs import job
from orla.provenance import collect, networks
from orla.provenance.tables import write_table

params, output, rule = snakemake.params, snakemake.output[0], snakemake.rule
with job(snakemake.log[0], output, rule, params.get("plugins", [])):
    from orla.vision import images, tent
    from orla.vision.networks import WideResNet, build_network, train

    pictures, spec = params.vision["images"], params.vision["network"]
    data = {"vision": {"label": images.LABELS[pictures["kind"]], "source": "images"}}
    about = {"config": params.vision, "datasets": data, "optimizer": params.get("spec", {})}
    source = collect.collect("orla.vision.tent", **about)
    inputs = [path for path in snakemake.input if path not in snakemake.input.images]
    if rule == "vision_adapt":
        network = WideResNet(spec["depth"], spec["widen"])
        weights = networks.load(snakemake.input.network)
        network.load_state_dict({name: values[0] for name, values in weights.items()})
        streams = images.corruption_streams(pictures, params.vision["scored"])
        way = (*snakemake.wildcards, params.spec, params.growth)  # what adapts, and the optimizer
        table = tent.adaptation_table(network, streams, params.vision, *way)
        write_table(table, output, source, inputs)
    else:
        network = build_network(spec)
        if "checkpoint" not in spec:
            network = train(network, spec, *images.fashion_mnist(pictures, "train"))
        weights = {name: values[None] for name, values in network.state_dict().items()}
        networks.save(weights, output, source, inputs)
