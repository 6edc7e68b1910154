"""scikit-learn estimators whose fitted model is a leafgate release: what would be published, and nothing else.

columns         from arrays and data frames to tables, and domains that fit fixes
classifiers     the estimators: k-anonymous trees, differentially private forests, trees from perturbed numbers
audited_choice  the most accurate candidate of a search whose audit passes
drawing         a picture of a tree

They need scikit-learn, which is imported with this package and not before.
"""

from __future__ import annotations

try:
    from sklearn.utils.validation import validate_data as validate_data
except ImportError:
    from leafgate.lazy_loading import install_command

    message = f"leafgate.estimators needs scikit-learn 1.6 or later: {install_command('sklearn')}"
    raise ImportError(message) from None

from leafgate.estimators.audited_choice import AuditedCandidate as AuditedCandidate
from leafgate.estimators.audited_choice import AuditedChoice as AuditedChoice
from leafgate.estimators.audited_choice import ChoiceError as ChoiceError
from leafgate.estimators.audited_choice import NoPassingCandidateError as NoPassingCandidateError
from leafgate.estimators.classifiers import KAnonymousTreeClassifier as KAnonymousTreeClassifier
from leafgate.estimators.classifiers import NoTreeError as NoTreeError
from leafgate.estimators.classifiers import PerturbedTreeClassifier as PerturbedTreeClassifier
from leafgate.estimators.classifiers import PrivateForestClassifier as PrivateForestClassifier
from leafgate.estimators.columns import InvalidInputError as InvalidInputError
