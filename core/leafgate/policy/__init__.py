"""From a policy's YAML to its checked models: sources, inheritance, strictness, validation, knowledge, waivers."""
