"""Finds the reason of a failed pip, CMake or compiler run in its last lines, and says it in words."""

from __future__ import annotations

import re

from .errors import CommandFailed

_REASONS = (
    (
        r"No space left on device|disk full|There is not enough space",
        "The disk became full.",
        "Free some room, or set LOCALRAG_CACHE to a folder on a larger disk.",
    ),
    (
        r"Killed signal|signal 9|out of memory|Cannot allocate memory|compiler is out of heap",
        "The compiler ran out of memory.",
        "Close other programs, or build one file at a time: CMAKE_BUILD_PARALLEL_LEVEL=1 scripts/setup",
    ),
    (
        r"Could not fetch|Max retries|NewConnectionError|name resolution|No matching distribution|ReadTimeout"
        r"|ProxyError|Connection (?:refused|reset|broken)|Network is unreachable|SSLError",
        "The package could not be fetched.",
        "Check the network and pip's settings (pip config list), then start again.",
    ),
    (
        r"CUDA Toolkit not found|CUDA_ARCHITECTURES|nvcc fatal|Failed to find nvcc",
        "The CUDA toolkit does not work with this compiler or is not complete.",
        "Check nvcc --version, or set up without --cuda.",
    ),
    (
        r"Could NOT find Vulkan|Vulkan_LIBRARY",
        "Vulkan's development files are missing.",
        "Debian, Ubuntu: apt-get install libvulkan-dev glslc; or set up without --vulkan.",
    ),
    (
        r"No CMAKE_C\w*_COMPILER|CMAKE_C\w*_COMPILER not set|is not able to compile a simple test program",
        "CMake found no compiler that works.",
        "Install gcc and g++, or name them: CC=gcc CXX=g++ scripts/setup",
    ),
)


def explain_failure(error: CommandFailed) -> CommandFailed:
    """The same failure with its reason in words, where the last lines show one."""
    text = "\n".join(error.tail)
    for pattern, reason, hint in _REASONS:
        if re.search(pattern, text, re.IGNORECASE):
            error.message = f"{error.what} failed. {reason}"
            error.hint = hint
            break
    return error
