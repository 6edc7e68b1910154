"""From the neutral model to a release over the policy's columns."""
