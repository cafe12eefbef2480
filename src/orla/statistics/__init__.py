"""Tests, intervals and resampling: thin names over scipy and statsmodels."""
