"""Interventions: changes to a gradient between learner and optimizer."""
