"""Order of the tests."""

LONGEST = [
    "workflow/test_run.py",
    "workflow/test_every_room.py",
    "programs/test_compiling.py",
    "learners/test_definitions.py",
    "engine/test_streams.py",
]


def pytest_collection_modifyitems(items):
    """Begin with the longest files, so that the other processes have the rest to do beside them."""

    def place(item):
        name = "/".join(item.path.parts[-2:])
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    items.sort(key=place)
