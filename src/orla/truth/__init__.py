"""Truth controls: made-up studies with known answers, through the same functions to the verdict."""
