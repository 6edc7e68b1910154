"""Containers that several readers open, within bounds: JSON, zip, objects, and leafgate's own format of models."""
