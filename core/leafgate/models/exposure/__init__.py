"""What a model's file discloses beyond its predictions, found on the model.

`shares` and `scores` recover counts of people from published numbers, `categories` finds lists of values that name
people; `implied` adds all of these.
"""
