"""What a model's file discloses beyond its predictions, found on the model or in the file.

`shares` and `scores` recover counts of people from published numbers, `categories` finds lists of values that name
people, `unread` records content that is not part of the model, against a table of fields for each format.
"""
