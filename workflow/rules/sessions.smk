# From recordings to streams. Everything downstream of this chapter reads streams.npz alone.

SOURCE = config["dataset"]["source"]
SESSIONS = config["dataset"]["sessions"]
LABELS = {
    "simulated": "SIMULATED sessions in the layout of O'Doherty et al. (Zenodo 3854034)",
    "odoherty": "recordings of O'Doherty et al. (Zenodo 3854034)",
    "nwb": "recordings in NWB",
    "binned": "binned recordings",
}
DATASET = {
    "name": config["name"],
    "source": SOURCE,
    "simulated": SOURCE == "simulated",
    "label": f"{LABELS[SOURCE]}: {SESSIONS['a']}, {SESSIONS['b']}",
}


include: f"sources/{SOURCE}.smk"
