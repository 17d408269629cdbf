"""The module that verifiers' command line finds the environment by; put its folder on PYTHONPATH, or publish it as a package."""

from sesa_env.integrations.verifiers import SearchEnvironment, SearchTaskset, load_environment

__all__ = ["SearchEnvironment", "SearchTaskset", "load_environment"]
