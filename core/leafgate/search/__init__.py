"""What all searches for a release that keeps the limits share, and the search for remedies of a failing audit.

    trials       audits with a change of the policy, and the bisection of a ladder of changes
    budget       how much a search tries: work, which a repetition repeats, and seconds only where asked for
    people       who candidates are chosen by, who the winner is reported on, and folds of a table
    picture      candidates as dots: use against protection
    remedies     where a limit fails: options of the builder, and other builders, that pass when tried
    model_files  the same for a model's file: labels alone on its leaves, larger leaves, fewer trees

The engine knows no search: `leafgate.session.run` passes it the one for remedies. `leafgate.commands.repair` is the
search for a model in place of a given one.
"""
