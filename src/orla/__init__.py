"""Online Recurrent Learning and Adaptation: recurrent networks that learn while in use."""

__version__ = "0.1.0"
