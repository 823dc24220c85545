"""What runs in the place of OpenCompass's scripts.

Apart, and under names of their own: Python looks beside a script for the modules that anything imports.
"""
