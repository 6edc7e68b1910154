"""One policy audited many times, with other options each time: what protection costs."""
