"""Attacks that bound epsilon from below."""
