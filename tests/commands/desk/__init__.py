"""The desk, in a client and in a browser; a package, so that its conftest.py and that of all tests are two modules."""
