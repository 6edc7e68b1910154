"""`leafgate diff`: two policies or two reports beside each other."""
