# The checks that scripts/check and scripts/test share. Sourced, with the repository as the current folder.

first_failure=0
summary=

# Runs a named check and goes on when it fails; the first failure's exit code is kept.
check() {
    name=$1
    shift
    printf '== %s\n' "$name"
    if "$@"; then
        summary="$summary$name passed; "
    else
        code=$?
        summary="$summary$name FAILED; "
        [ "$first_failure" -ne 0 ] || first_failure=$code
    fi
}

static_checks() {
    check "ruff" .venv/bin/ruff check .
    check "format" .venv/bin/ruff format --check .
    check "mypy" .venv/bin/mypy --strict localrag tests
    check "imports" .venv/bin/lint-imports
}
