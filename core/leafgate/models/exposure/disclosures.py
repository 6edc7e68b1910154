"""What the numbers at the leaves of a model's file disclose."""

from __future__ import annotations

from leafgate.types.release import FileDisclosure

RATIOS = FileDisclosure(
    "ratios", "medium", "shares to the last digit: of small leaves they betray how many people are in them"
)
COUNTS = FileDisclosure("counts", "high", "how many people of each class are at the leaves", "counts")
SIZES = FileDisclosure("sizes", "high", "how many people are at the leaves", "counts")
SCORES = FileDisclosure("scores", "low", "each leaf's score, without which nobody could predict")
NUMBERS = FileDisclosure(
    "numbers",
    "low",
    "each leaf's number, without which nobody could predict: often the mean of its people's",
)
