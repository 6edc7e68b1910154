"""The values everything speaks of: schema, table, tree, release, adversary's knowledge, belief, evidence, report."""
