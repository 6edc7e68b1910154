"""Downgrading."""
