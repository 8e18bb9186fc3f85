"""The doctor: asks a real GitHub whether it behaves as this product relies on."""
