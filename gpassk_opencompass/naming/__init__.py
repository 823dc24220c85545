"""What runs and files are called, and the manifest that tells what a name stands for."""
