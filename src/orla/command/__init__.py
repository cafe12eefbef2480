"""The command ``orla``: a study's folder, its sessions, what it takes, its run and its answer."""
