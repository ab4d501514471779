# Finds a Python that can run the set-up. Sourced by the scripts; POSIX sh.

# Prints the program to use, or explains on stderr what is missing and returns 1.
# LOCALRAG_PYTHON, when set, is the only one that is looked at.
find_python() {
    too_old= no_venv=
    if [ -n "${LOCALRAG_PYTHON:-}" ]; then
        try_python "$LOCALRAG_PYTHON" && return 0
    else
        for candidate in python3 python3.13 python3.12 python3.14 python3.11 python; do
            try_python "$candidate" && return 0
        done
    fi
    if [ -n "$no_venv" ]; then
        echo "Error: $no_venv has no working venv module, which makes the environment .venv." >&2
        echo "Debian and Ubuntu keep it apart: apt-get install python3-venv. Then start again." >&2
    elif [ -n "$too_old" ]; then
        echo "Error: localrag needs Python 3.11 or newer; here is only $too_old." >&2
        echo "Install a newer one, or name it: LOCALRAG_PYTHON=/path/to/python3 scripts/setup" >&2
    elif [ -n "${LOCALRAG_PYTHON:-}" ]; then
        echo "Error: LOCALRAG_PYTHON names $LOCALRAG_PYTHON, which does not run." >&2
        echo "Name a Python 3.11 or newer, or leave the variable unset." >&2
    else
        echo "Error: there is no Python here; localrag needs Python 3.11 or newer." >&2
        echo "Debian, Ubuntu: apt-get install python3 python3-venv; Fedora: dnf install python3; macOS: brew install python" >&2
    fi
    return 1
}

# Prints $1 if it is a Python that will do; else notes what is wrong with it.
# It is run, not only looked up: a version manager leaves stand-ins for Pythons that are not active.
try_python() {
    said=$("$1" -c 'import sys
print("Python " + ".".join(map(str, sys.version_info[:3])))
if sys.version_info < (3, 11):
    print("old")
else:
    try:
        import ensurepip, venv
        print("good")
    except ImportError:
        print("bare")' 2>/dev/null) || return 1
    version=${said%%
*}
    case $said in
        *good) printf '%s\n' "$1"; return 0 ;;
        *bare) [ -n "$no_venv" ] || no_venv="$version ($1)" ;;
        *old) [ -n "$too_old" ] || too_old="$version ($1)" ;;
    esac
    return 1
}
