"""Reading and writing: JSON, YAML, tables, trees, releases, files that appear whole or not at all."""
