"""Other programs that evaluate models: G-Pass@k inside each of them, a module or package a program."""
