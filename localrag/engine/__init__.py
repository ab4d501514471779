"""The engine: llama.cpp in a worker process, and what the rest of localrag says to it."""
