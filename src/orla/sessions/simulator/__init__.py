"""Simulated sessions of self-paced reaching, with spikes in the layout of O'Doherty et al.

A subject reaches for random targets on a grid while an array of 96 electrodes records threshold
crossings and sorted units, on two days between which the recording drifts. The simulation shows
that the study works; it says nothing about the brain. docs/calibration.md says which published
magnitudes the sessions are held to, how well they reach them, and how `Settings` were chosen; the
others are round numbers of the order that the literature on motor cortex reports.
"""

from orla.sessions.simulator.settings import ArraySettings, DriftSettings, Settings, TaskSettings

__all__ = ["ArraySettings", "DriftSettings", "Settings", "TaskSettings"]
