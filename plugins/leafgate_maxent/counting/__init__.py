"""The counting estimator: what follows when everyone's class is a fact and every data set as likely as any other."""

from leafgate_maxent.counting.posterior import Counted, counted

__all__ = ["Counted", "counted"]
