# Sourced by ./start and ./test with $here, the checkout. `environment EXTRA` makes $here/.venv what pyproject.toml asks
# for (with the extra of that name, if one is given) and does nothing where it is that already.

python=$here/.venv/bin/python

environment() {
    wanted="$here $1 $(cksum <"$here/pyproject.toml")"
    # The test extra holds everything, so an environment made for testing serves ./start as well.
    if "$python" -c "" 2>/dev/null && grep -qxF -e "$wanted" -e "$here test ${wanted#"$here $1 "}" "$here/.venv/installed" 2>/dev/null; then
        return
    fi
    if ! "$python" -c "" 2>/dev/null; then
        base=$(newest_python)
        echo "Making $here/.venv with $("$base" -V) …" >&2
        rm -rf "$here/.venv"
        "$base" -m venv "$here/.venv" >&2 || {
            rm -rf "$here/.venv"
            stop "Python's venv module does not work here. On Debian and Ubuntu, install the package python3-venv; then try again."
        }
    fi
    echo "Installing dmlviz and what it needs; the first time this takes some minutes …" >&2
    rm -f "$here/.venv/installed"
    "$python" -m pip install --disable-pip-version-check --editable "$here${1:+[$1]}" >&2 ||
        stop "The installation failed; pip says why, above. It can be tried again as it is."
    # What draws maps fast, compiled now rather than before somebody's first map; without it other code draws them.
    "$python" -m dmlviz.projection.compilation || true
    echo "$wanted" >"$here/.venv/installed"
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
