"""What things are and what should be true: pure rules, no I/O, no clock, no randomness."""
