"""Pre-registrations: read them, lock them, judge the results by them."""
