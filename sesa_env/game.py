"""The rules of the game. Pure: no Gymnasium, no network, no clock, no global randomness. (Under construction: the interface.)"""
