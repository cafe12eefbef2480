"""Interventions: what is done to a gradient between learner and optimizer."""
