"""A person at a seat: the game at a terminal, saved games, and the command `sesa play`."""
