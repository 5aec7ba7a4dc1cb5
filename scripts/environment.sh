# Sourced by ./start and ./test with $here, the checkout. `environment EXTRA` makes $here/.venv what pyproject.toml asks
# for (with the extra of that name, if one is given), in the versions of constraints.txt, and does nothing where it is that
# already. `environment EXTRA lowest` makes $here/.venv-lowest of the lowest versions that pyproject.toml allows, and
# `environment EXTRA newest` one of the newest; only torch is the locked one there, since its newest build has gigabytes.

python=$here/.venv/bin/python
unset PYTHONDONTWRITEBYTECODE  # what is imported is compiled once, then kept

environment() {
    venv=$here/.venv${2:+-$2}
    python=$venv/bin/python
    wanted="$here $1 $(cat "$here/pyproject.toml" "$here/constraints.txt" | cksum)"
    # The test extra holds everything, so an environment made for testing serves ./start as well.
    if "$python" -c "" 2>/dev/null && grep -qxF -e "$wanted" -e "$here test ${wanted#"$here $1 "}" "$venv/installed" 2>/dev/null; then
        return
    fi
    if ! "$python" -c "" 2>/dev/null; then
        base=$(newest_python)
        echo "Making $venv with $("$base" -V) …" >&2
        rm -rf "$venv"
        "$base" -m venv "$venv" >&2 || {
            rm -rf "$venv"
            stop "Python's venv module does not work here. On Debian and Ubuntu, install the package python3-venv; then try again."
        }
    fi
    echo "Installing dmlviz and what it needs; the first time this takes some minutes …" >&2
    rm -f "$venv/installed"
    install_versions "${2-locked}" --editable "$here${1:+[$1]}" >&2 ||
        stop "The installation failed; the reason is above. It can be tried again as it is."
    # What draws maps fast, compiled now rather than before somebody's first map; without it other code draws them.
    "$python" -m dmlviz.projection.compilation || true
    echo "$wanted" >"$venv/installed"
}

install_versions() {
    versions=$1
    shift
    # Most of the modules are never imported: compiled one by one when they are, they cost a third of the installation less.
    case $versions in
    locked) "$python" -m pip install --no-compile --disable-pip-version-check --constraint "$here/constraints.txt" "$@" ;;
    lowest)
        "$python" -m pip install --disable-pip-version-check --quiet uv
        UV_FIND_LINKS=${UV_FIND_LINKS-${PIP_FIND_LINKS-}} "$python" -m uv pip install --python "$python" --resolution lowest-direct "$@"
        ;;
    newest)
        grep -E '^torch(vision)?==' "$here/constraints.txt" >"$venv/torch.txt"
        "$python" -m pip install --no-compile --disable-pip-version-check --upgrade --upgrade-strategy eager --constraint "$venv/torch.txt" "$@"
        ;;
    esac
}

newest_python() {
    seen=
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            echo "$candidate"
            return
        fi
        seen="${seen:+$seen, }$version"
    done
    stop "dmlviz needs Python 3.11 or newer; found ${seen:-none}. Install one, or name it: PYTHON=/path/to/python $0"
}

stop() {
    echo "$1" >&2
    exit 1
}
