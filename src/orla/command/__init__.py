"""The command ``orla``: a study's folder, its run, what it takes, and how far its sessions drift."""
