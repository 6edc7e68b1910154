"""A model's file without what it need not tell, and proof that it predicts the same."""
