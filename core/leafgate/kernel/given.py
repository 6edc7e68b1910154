"""Options of the command line that a report states because they change it; importing them imports nothing else."""

WITNESS_LIBRARY = "--witness-library"
"""The option that has the library which wrote a model's file answer for it."""
NO_REMEDIES = "--no-remedies"
"""The option that an audit without a search for remedies is equal to."""
