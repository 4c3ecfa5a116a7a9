# Holds a worker on a machine: `sh -s MARK`, with this text at standard input, and then lines from the leader's process.
#
# What is said begins with MARK, so that what a login shell prints is not taken for it. The worker ends, and the folder with
# its keys goes, when the leader's process says so, is gone, or the worker itself is done.
# All of this is one command, so that the shell has read it to its end before the first line of the leader's comes.
{
    mark=$1
    folder= worker= reader= is_over=
    umask 077

    say() { printf '%s %s\n' "$mark" "$*"; }
    # The last line that a program says; nothing of it is a question to the leader.
    last_line() { "$@" </dev/null 2>&1 | tail -n 1; }
    # Whether a process is there, and not only its name.
    lives() {
        case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in '' | Z* | X*) return 1 ;; esac
    }
    wait_for_end() {
        turns=$2
        while lives "$1" && [ "$turns" -gt 0 ]; do
            sleep 0.1
            turns=$((turns - 1))
        done
    }
    leave() {
        code=$?
        trap '' TERM INT HUP PIPE
        if [ -n "$worker" ] && [ -z "$is_over" ]; then
            kill -TERM "$worker" 2>/dev/null
            wait_for_end "$worker" 100
        fi
        if [ -n "$worker" ]; then
            kill -KILL "-$worker" 2>/dev/null
            wait_for_end "$worker" 30
        fi
        [ -z "$reader" ] || kill -KILL "$reader" 2>/dev/null
        [ -z "$folder" ] || rm -rf -- "$folder"
        if [ -n "$worker" ] && lives "$worker"; then say left "$worker"; fi
        exit "$code"
    }
    trap leave EXIT
    trap 'exit 143' TERM INT HUP PIPE

    say ready
    IFS= read -r python && IFS= read -r here || exit
    # Where pip --user, pipx and uv put programs; a shell that is no login shell often does not look there.
    PATH=$PATH:${HOME:-/nonexistent}/.local/bin
    # -P: nothing is imported from the directory in which this happens to run.
    if [ -n "$python" ]; then
        set -- "$python" -P -m assay
    elif command -v assay >/dev/null; then
        set -- "$(command -v assay)"
    elif [ -x "$here" ] && { [ -O "$here" ] || [ "$(stat -L -c %u "$here")" = 0 ]; }; then
        set -- "$here" -P -m assay
    else
        set -- assay
    fi
    say assay "$(last_line "$@" --version)"
    say machine "$(uname -s) $(uname -m)"
    for engine in "$ASSAY_ENGINE" "$(dirname "$1")/assay-engine" \
        "$(dirname "$(readlink -f "$1")")/assay-engine" "$(command -v assay-engine)"; do
        if [ -n "$engine" ] && [ -x "$engine" ]; then say engine "$(last_line "$engine" --version) $engine"; fi
    done
    say looked

    IFS= read -r wanted || exit
    if [ "$wanted" = folder ]; then
        folder=$(mktemp -d "${TMPDIR:-/tmp}/assay-XXXXXXXXXX") || exit
        say folder "$folder"
        IFS= read -r wanted || exit
    fi
    case $wanted in
    'engine copied')
        ASSAY_ENGINE=$folder/assay-engine
        say engine "$(last_line "$ASSAY_ENGINE" --version)"
        ;;
    'engine '*) ASSAY_ENGINE=${wanted#engine } ;;
    *) exit 2 ;;
    esac
    export ASSAY_ENGINE

    while IFS= read -r word; do
        case $word in
        +*) set -- "$@" "${word#+}" ;;
        start) break ;;
        *) exit 2 ;;
        esac
    done
    [ "$word" = start ] || exit
    # A process group of its own, which ends as a whole.
    setsid "$@" </dev/null >&2 &
    worker=$!
    say started "$worker"
    exec 3<&0
    holder=$$
    {
        while IFS= read -r word && [ "$word" != end ]; do :; done
        kill -TERM "$holder"
    } <&3 >/dev/null 2>&1 &
    reader=$!
    wait "$worker"
    code=$?
    is_over=1
    say ended "$code"
    exit "$code"
}
