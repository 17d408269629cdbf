"""Plays episodes with both seats behind an OpenAI-compatible server. With the extra verifiers:

python docs/examples/verifiers_play.py --url http://localhost:8000/v1 --model Qwen/Qwen3-4B
"""

import argparse
import asyncio

import verifiers.v1 as vf

from sesa_env.integrations.verifiers import load_environment


async def play(environment, context, count):
    async with environment.serving():
        for task in environment.taskset.take(count):
            episode = await environment.run_episode(task, context)
            for trace in episode.traces:
                reward, seat = trace.rewards["game"].score, trace.agent.name
                print(f"task {task.data.idx}, {seat}: reward {reward:+.2f}, turns {trace.num_turns}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--role", default="challenger", choices=["solver", "challenger"], help="who begins")
    parser.add_argument("--episodes", type=int, default=2)
    options = parser.parse_args()

    environment = load_environment({"role": options.role, "corpus": "miniwiki"})
    client = vf.EvalClientConfig(base_url=options.url, api_key_var="OPENAI_API_KEY")
    asyncio.run(play(environment, vf.ModelContext(model=options.model, client=client), options.episodes))


if __name__ == "__main__":
    main()
