"""What to do about findings that are not ok.

    static       what follows from a finding's reason, its metric's advice and the release, without any trial
    search       where a limit fails: values of the builder's options, and other builders, that pass when tried
    trials       audits with a change, against the broken limits alone or whole, and bisection on a ladder of values
    model_files  the same for a model's file: labels alone on its leaves, larger leaves, fewer trees
    several_releases  limits on what several releases prove together: all that helps in its order, what was found in it

An audit first gives every finding its static remedies; a search puts what it found in their place.
"""
