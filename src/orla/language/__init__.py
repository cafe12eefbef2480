"""Language models that adapt online by LoRA, on text whose kind changes."""

from orla.errors import OrlaError

try:
    import peft  # noqa: F401
    import transformers  # noqa: F401
except ImportError:
    raise OrlaError(
        "language models need transformers and peft: pip install 'orla[language]'"
    ) from None
