"""`leafgate desk`: pages in the browser that lead from a model's file to a verdict.

`command` starts the `server`, which lets in nobody else; `pages` answers its requests. `cases` holds a folder for each
case, `reading` finds out what its files are, `questions` asks what they do not say and changes the `policy_text`.
`jobs` runs the command line in processes of their own, whose limits `limited` sets; `results` shows their reports.
"""
