"""scikit-learn's models and their pipelines, from skops files (`skops`) and from memory (`estimators`).

`pipeline` traces features back to columns with `encoders`, `imputers` and `scalers`; `trees` and `hist_boosting` read
the trees; `disclosures` and `unread` say what the objects hold besides.
"""
