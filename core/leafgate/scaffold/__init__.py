"""Write first files: `policy` a policy for a table, `plugin` a package for a plugin from the files in `templates`."""
