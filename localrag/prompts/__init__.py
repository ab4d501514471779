"""Prompt files: those that ship in `prompts/`, a person's own in their place, and what is wrong with them."""

from localrag.prompts.contracts import INPUTS, Contract, contract
from localrag.prompts.files import Prompt, load, parse

__all__ = ["INPUTS", "Contract", "Prompt", "contract", "load", "parse"]
