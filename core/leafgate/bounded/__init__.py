"""JSON, zip, gzip and XML of strangers, parsed within bounds of memory and depth; objects, looked at and never run."""
