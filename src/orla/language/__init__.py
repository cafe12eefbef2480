"""Language models that adapt online by LoRA, on text whose kind changes."""

from orla.errors import OrlaError

try:
    from peft import __version__ as PEFT
    from tokenizers import __version__ as TOKENIZERS
    from transformers import __version__ as TRANSFORMERS
except ImportError:
    raise OrlaError(
        "language models need transformers and peft: pip install 'orla[language]'"
    ) from None

VERSIONS = {"transformers": TRANSFORMERS, "peft": PEFT, "tokenizers": TOKENIZERS}
