"""Readers of model files, a folder for each library or format."""
