"""The counting estimator: what follows when everyone's class is a fact and every data set as likely as any other."""

from leafgate_maxent.counting.posterior import CountingPosterior, counting_posterior

__all__ = ["CountingPosterior", "counting_posterior"]
