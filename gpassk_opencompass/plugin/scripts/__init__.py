"""What runs in the place of OpenCompass's scripts; apart, since Python looks beside a script for modules."""
