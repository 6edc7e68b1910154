"""Models that others fitted: read as data, checked, and told in the policy's columns."""
