"""What is known before anything is solved: fixed cells, symmetries, reduced problems."""
