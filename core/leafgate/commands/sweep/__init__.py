"""`leafgate sweep` audits one policy with many settings of its options, to show what protection costs.

`axes` makes a policy for each point, `worker` audits one point, `pool` runs the points in several processes, `results`
collects them as sweep.json and a table, `picture` draws them as dots of `search/picture.py`; `command` is the command.
"""
