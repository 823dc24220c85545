"""What is run in the place of a script of OpenCompass. It lies apart: Python looks beside a script for modules."""
