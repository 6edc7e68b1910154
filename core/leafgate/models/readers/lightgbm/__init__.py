"""LightGBM's text files."""
