"""Plugins with one mistake each, to see that the kit finds it; and the honest ones they were made from.

Each mistake has the name of the check that finds it.
"""
