"""Other programs that evaluate models: G-Pass@k inside each of them, a package a program."""
