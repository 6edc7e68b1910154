"""First files: a policy for a table, a package for a plugin."""
