"""What a model file answers, one module for each format: slow, and written from the formats' documentation alone.

Nothing here comes from leafgate: neither its readers nor its prediction. Each module takes a parsed document and
columns of cells, and gives scores and labels. `tests/plugins/mutations` compares them with the producers' own answers.
"""
