"""The experiment: arms trained and evaluated side by side, and what follows for each claim of the paper."""
