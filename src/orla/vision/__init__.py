"""Test-time adaptation in vision: networks that adapt to corrupted images by their own entropy."""
