"""Checks of what plugins offer as values, not as classes: report formats and model readers."""
