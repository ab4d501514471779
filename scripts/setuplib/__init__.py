"""The set-up of localrag: environment, llama.cpp build, models, and the proof that they work together.

Standard library only, since it runs before anything is installed. `main` puts the steps in order, `plan` says
what is missing and what it costs, `build` makes the wheel of llama.cpp, `prove` tries it on a real prompt.
"""
