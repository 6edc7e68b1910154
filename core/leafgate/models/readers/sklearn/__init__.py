"""scikit-learn's models and their pipelines, from skops files and from memory."""
