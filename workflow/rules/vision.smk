# Test-time adaptation in vision: a network, and a job for each way to adapt it.
VISION = STUDY.get("vision", {})
# Images that are replaced make everything of them anew, also where no sum holds them.
IMAGES = [*map(str, Path(VISION["images"]["folder"]).glob("[!.]*"))] if VISION else []
# (What adapts, optimizer) -> settings, and the optimizer's specification; two ways have none, and
# are named "-".
WAYS = vision_jobs(STUDY)
with exit_in_one_line():
    TENT = {way: PLAN.spec("optimizer", way[1]) if way[1] != "-" else {} for way in WAYS}


rule vision_network:
    input:
        network=VISION.get("network", {}).get("checkpoint", []),
        images=IMAGES,
    output:
        network="<results>/vision/network.safetensors",
    log:
        "<logs>/vision/network.log",
    resources:
        mem_mb=2000,
    params:
        vision={key: VISION.get(key) for key in ("images", "network")},
        code=code("orla.vision.networks", "orla.vision.images", parts=[("optimizer", "adam")]),
    message:
        "Training the network of images"
    script:
        "../scripts/vision.py"


rule vision_adapt:
    input:
        images=IMAGES,
        network=rules.vision_network.output.network,
    output:
        table="<results>/vision/{adapts}/{optimizer}.parquet",
    log:
        "<logs>/vision/{adapts}/{optimizer}.log",
    resources:
        mem_mb=2000,
    params:
        vision=lambda w: WAYS[w.adapts, w.optimizer],
        spec=lambda w: TENT[w.adapts, w.optimizer],
        growth=STUDY["grid_growth"],
        plugins=PLUGINS,
        code=lambda w: code("orla.vision.tent", parts=tent_parts(w)),
    message:
        "Adapting to corrupted images: {wildcards.adapts}, {wildcards.optimizer}"
    script:
        "../scripts/vision.py"
