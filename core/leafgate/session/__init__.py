"""One run: the policy and its tables opened, the audit run, its results written or withdrawn."""
