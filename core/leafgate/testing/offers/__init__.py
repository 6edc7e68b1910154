"""Checks of report formats, model readers and data sources."""
