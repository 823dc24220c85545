"""Lists of questions, from the hub or a folder, for every host alike."""
