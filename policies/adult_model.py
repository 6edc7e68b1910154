"""A pipeline as people fit it: python policies/adult_model.py ADULT_DATA MODEL [least people in a leaf]."""

import sys

import pandas as pd
import skops.io
import yaml
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

data, file, least = (*sys.argv[1:], "1")[:3]
names = list(yaml.safe_load(open("policies/adult-model.yaml"))["data"]["columns"])  # noqa: SIM115
people = pd.read_csv(data, names=names, skipinitialspace=True, na_values="?").dropna()
known = people.drop(columns=["fnlwgt", "education-num", "income"])
texts, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
prepare = make_column_transformer((OneHotEncoder(), texts), (StandardScaler(), numbers))
tree = DecisionTreeClassifier(max_depth=9, min_samples_leaf=int(least), random_state=0)
skops.io.dump(make_pipeline(prepare, tree).fit(known, people["income"]), file)
