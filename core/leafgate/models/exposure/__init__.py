"""What a model's file discloses beyond its predictions, found on the model or in the file.

`disclosures` has those of leaves, `shares` and `scores` recover counts of people from published numbers, `categories`
finds lists of values that name people, `unread` collects content that is not part of the model.
"""
