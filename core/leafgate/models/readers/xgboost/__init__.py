"""XGBoost's files, JSON and UBJSON."""
