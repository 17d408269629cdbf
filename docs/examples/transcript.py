"""The transcript in the rules: a whole episode, from a target to the Challenger's reward, with a group of three attempts."""

from sesa_env import GameConfig, Role, SearchGame, make_world
from sesa_env.players.load import load_player
from sesa_env.records import open_memory
from sesa_env.transcript import tell_episode

world = make_world("miniwiki", size=400, n_questions=1, n_targets=20)
game = SearchGame(world, GameConfig(group_size=3), open_memory("seeds"))
game.reset(world.targets[6], seed=6)

challenger = load_player("challenger", world, role=Role.CHALLENGER)
while game.actor is Role.CHALLENGER:
    game.act(challenger.act(game.view()))

solver = load_player("naive", world)  # the first attempt: it searches the question as it stands
while not game.attempts:
    game.act(solver.act(game.view()))

game.act("I believe that it is Ada Vale.")  # the second: its first turn is malformed, then it gives up
game.act("<think>I cannot find it.</think><answer>nobody</answer>")

game.act("<search>who is it</search>")  # the third
game.act("<answer>Ada Vale</answer>")
print(tell_episode(game), end="")
