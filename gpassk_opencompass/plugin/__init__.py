"""Everything that touches OpenCompass; importing one of its classes registers it with OpenCompass."""
