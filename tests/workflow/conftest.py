"""Order of the tests."""


def pytest_collection_modifyitems(items):
    """Begin with the longest file, so that the other process has the rest to do beside it."""
    items.sort(key=lambda item: item.path.name != "test_run.py")
