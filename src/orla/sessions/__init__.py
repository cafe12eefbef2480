"""Recordings: download, MATLAB and NWB files, binned files, simulation, binning and features."""
