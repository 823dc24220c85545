"""Result files: what is written into them, and the one reader of them, whoever wrote them."""
