"""Write the table of docs/reliability.md: `python tests/hostile/table.py`, some ten minutes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import tables_of_docs
from hostile.readers import READERS
from hostile.test_hostile import HEAD, MANY, rows, tried

answers = {name: tried(reader, MANY) for name, reader in READERS.items()}
tables_of_docs.write("hostile", HEAD, rows(answers))
