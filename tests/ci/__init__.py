"""The recipes for CI, run as they stand; a package, so that its conftest.py and that of all tests are two modules."""
