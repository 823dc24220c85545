"""OpenCompass's model classes, drawing each sample from its own seed: one module an engine."""
