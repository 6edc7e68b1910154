"""`leafgate init`, `leafgate schema` and `leafgate plugins new`: what a first policy or plugin is written with.

`policy` writes a policy for a table, with what `column_guesses` finds in its columns and `model` in a model's file;
`json_schema` describes policies to editors; `plugin` writes a package for a plugin from the files in `templates`;
`command` has the commands.
"""
