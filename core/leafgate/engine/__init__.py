"""An audit: build, publish, attack, score, judge, and the facts a report says of them."""
