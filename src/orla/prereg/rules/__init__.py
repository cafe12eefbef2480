"""Rules: what a registration may claim of an estimate, one file a rule."""
