"""Takes the sting out of text that servers would read as control tokens.

A chat over the OpenAI protocol is text, and the server turns it into tokens with control tokens on. So what
looks like one in a document, a question or an earlier answer is changed where everyone can see it: its
brackets become ‹ › or ⟦ ⟧. It is not changed back, since nothing tells it from text that was written so.
"""

from __future__ import annotations

import re

_ANGLES = re.compile(
    r"<(?=[|｜])(?P<bars>[|｜][^<>\n]{1,60}?[|｜])>"
    r"|<(?P<word>/?(?:s|bos|eos|pad|unk|mask|cls|sep|think|tool_call|tool_response|im_start|im_end"
    r"|start_of_turn|end_of_turn|start_of_image|end_of_image|begin_of_text|end_of_text|endoftext"
    r"|fim_prefix|fim_middle|fim_suffix|unused\d+|reserved_\d+|extra_id_\d+))>",
    re.IGNORECASE,
)
_DOUBLE = re.compile(r"<<(?P<word>/?SYS)>>", re.IGNORECASE)
_SQUARE = re.compile(
    r"\[(?P<word>/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|gMASK|sMASK|PAD|UNK|CLS|SEP"
    r"|MASK))\]"
)


def defuse(text: str) -> str:
    """The text with look-alikes of control tokens made harmless."""
    text = _ANGLES.sub(lambda found: f"‹{found['bars'] or found['word']}›", text)
    text = _DOUBLE.sub(lambda found: f"‹‹{found['word']}››", text)
    return _SQUARE.sub(lambda found: f"⟦{found['word']}⟧", text)
