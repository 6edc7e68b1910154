"""What to do about findings that are not ok, as far as it follows without any trial.

    static            what follows from a finding's reason, its metric's advice and the release
    several_releases  limits on what several releases prove together: all that helps in its order, what was found in it

An audit first gives every finding its static remedies; `leafgate.search.remedies` puts what it found in their place.
"""
