"""Commands beside those on audits, a package each: its `command` is the command line, its other modules the work.

convert    convert, scrub: models in other formats, and with less in them;  repair: the most useful model that passes
diff       two policies, or two reports;  sweep: one policy with many settings
ledger     the releases that left, a module of its own
scaffold   init, schema, plugins new;  demo: an audit that fails and one that passes
desk       pages in the browser that lead through an audit
"""
