"""Gradients of every learner with frozen weights, to hold other code against ours."""
