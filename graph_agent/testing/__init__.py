"""For your own test suite. `crash` kills a durable run at every point of its commit path and resumes it."""
