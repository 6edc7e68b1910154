"""From a report to the document an audience may see: masking, histograms, intervals, schema, text."""
