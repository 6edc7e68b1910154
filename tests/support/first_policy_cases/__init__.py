"""The first-policy harness: random tables and models, audited by the policies that leafgate itself proposes.

Data flows one way: `people` draws a table, `models` fits a model of some producer and publishes it, `cases` audits the
file by the policy that `leafgate init` or `leafgate.audit` writes, and `adversary` says who is exposed by what was
published. One integer seed decides a whole case. The adversary shares no code with leafgate: `published` reads the
files that leafgate writes by itself, and the producers' own libraries say in which leaf of a model a person is.
"""
