"""The module by which verifiers' command line finds the environment: put its folder on PYTHONPATH, or publish it."""

from sesa_env.integrations.verifiers import SearchEnvironment, SearchTaskset, load_environment

__all__ = ["SearchEnvironment", "SearchTaskset", "load_environment"]
