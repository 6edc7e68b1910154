"""What a model's file discloses beyond its predictions."""
