# Holds a worker on a machine: `sh -s MARK`, with this text at standard input, and then lines from the leader's process.
#
# Each line of output begins with MARK, which separates it from what a login shell prints. The worker ends, and the folder with
# its keys goes, when the leader's process asks for it, is gone, or the worker itself is done.
# All of this is one command, so that the shell has read it to its end before the first line of the leader's comes.
{
    mark=$1
    folder= worker= reader= is_over=
    umask 077

    reply() { printf '%s %s\n' "$mark" "$*"; }
    # The last line that a program prints; nothing of it is a question to the leader.
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
        if [ -n "$worker" ] && lives "$worker"; then reply left "$worker"; fi
        exit "$code"
    }
    trap leave EXIT
    trap 'exit 143' TERM INT HUP PIPE

    # Why a path is not this user's and root's alone, or nothing: what of it somebody else could change. Every folder and link
    # on the way counts, and what it leads to; `own_files.py` and `ownership.py` have the same rule.
    stranger() {
        case $1 in /*) ;; *) printf '%s' "'$1' is no whole path" && return ;; esac
        seen= left=$1 steps=0
        stranger_at / && return
        while [ -n "$left" ]; do
            part=${left%%/*}
            case $left in */*) left=${left#*/} ;; *) left= ;; esac
            case $part in
            '' | .) continue ;;
            ..) seen=${seen%/*} && continue ;;
            esac
            steps=$((steps + 1))
            [ "$steps" -le 200 ] || { printf '%s' "$1 leads through too many links" && return; }
            stranger_at "$seen/$part" && return
            if [ -L "$seen/$part" ]; then
                target=$(readlink -n -- "$seen/$part" && printf x) || { printf '%s' "$seen/$part cannot be read" && return; }
                target=${target%x}
                left=$target/$left
                case $target in /*) seen= ;; esac
            else
                seen=$seen/$part
            fi
        done
    }
    # The same of one part of a path: prints the reason, and succeeds, where it is somebody else's.
    stranger_at() {
        facts=$(stat -c '%u %g %f' -- "$1" 2>/dev/null) || { printf '%s' "$1 is not there" && return; }
        owner=${facts%% *} mode=$((0x${facts##* }))
        group=${facts#* } group=${group%% *}
        if [ "$owner" != 0 ] && [ "$owner" != "$(id -u)" ]; then
            printf '%s' "$1 belongs to user $owner" && return
        fi
        # Nobody writes to a link; and in a folder with the sticky bit others cannot replace what is not theirs.
        case $((mode & 0170000)) in
        $((0120000))) return 1 ;;
        $((0040000))) [ $((mode & 01000)) = 0 ] || return 1 ;;
        esac
        if [ $((mode & 02)) != 0 ]; then
            printf '%s' "$1 can be written by every user" && return
        fi
        [ $((mode & 020)) != 0 ] || return 1
        # The bits of the group are those of all whom an ACL names, where there is one: ls(1) shows it by a `+`.
        case $(ls -ld -- "$1" | sed -n '1s/ .*//p') in
        *+) printf '%s' "$1 can be written by others, whom its ACL names" && return ;;
        esac
        if [ "$group" != 0 ] && ! is_closed "$group"; then
            printf '%s' "$1 can be written by group $group" && return
        fi
        return 1
    }
    # Whether nobody is in a group but this user and root: the private one that many systems make for each user, or one of the
    # distribution without members, as `staff` of Debian is, which may write to /usr/local.
    is_closed() {
        members=$(getent group "$1") || return 1
        case ${members##*:} in '' | root | "$(id -un)") ;; *) return 1 ;; esac
        if [ "$1" -gt 99 ]; then
            [ "$1" = "$(id -g)" ] && [ "$(id -gn)" = "$(id -un)" ]
        else
            users=$(getent passwd) && printf '%s\n' "$users" |
                awk -F: -v group="$1" -v me="$(id -u)" '$4 == group && $3 != 0 && $3 != me { is_in = 1 } END { exit is_in }'
        fi
    }
    # Where a program lies on PATH.
    on_path() {
        rest=$PATH:
        while [ -n "$rest" ]; do
            place=${rest%%:*} rest=${rest#*:}
            case $place in /*) [ -f "$place/$1" ] && [ -x "$place/$1" ] && printf '%s' "$place/$1" && return ;; esac
        done
        return 1
    }

    # Whole paths alone: of the folder in which this happens to run nothing is started.
    rest=$PATH: PATH=
    while [ -n "$rest" ]; do
        case ${rest%%:*} in /*) PATH=${PATH:+$PATH:}${rest%%:*} ;; esac
        rest=${rest#*:}
    done
    PATH=${PATH:-/usr/bin:/bin}

    reply ready
    IFS= read -r python || exit
    # Where pip --user, pipx and uv put programs; a shell that is no login shell often does not look there.
    PATH=$PATH:${HOME:-/nonexistent}/.local/bin
    # -P: nothing is imported from the directory in which this happens to run.
    if [ -n "$python" ]; then
        set -- "$python" -P -m assay
        reply assay "$(last_line "$@" --version)"
    elif program=$(on_path assay); then
        why=$(stranger "$program")
        if [ -n "$why" ]; then
            set -- /nonexistent/assay
            reply assay "refused: $program was not run: $why"
        else
            set -- "$program"
            reply assay "$(last_line "$@" --version)"
        fi
    else
        set -- /nonexistent/assay
        reply assay none
    fi
    reply machine "$(uname -s) $(uname -m)"
    for engine in "$ASSAY_ENGINE" "$(dirname "$1")/assay-engine" \
        "$(dirname "$(readlink -f "$1")")/assay-engine" "$(on_path assay-engine)"; do
        # One that somebody else could have put there is passed over: the leader's is copied then.
        if [ -n "$engine" ] && [ -f "$engine" ] && [ -x "$engine" ] && [ -z "$(stranger "$engine")" ]; then
            reply engine "$(last_line "$engine" --version) $engine"
        fi
    done
    reply looked

    IFS= read -r wanted || exit
    if [ "$wanted" = folder ]; then
        # Looked at before anything is made there: what others exchange would be removed at the end.
        why=$(stranger "${TMPDIR:-/tmp}")
        if [ -z "$why" ]; then
            folder=$(mktemp -d "${TMPDIR:-/tmp}/assay-XXXXXXXXXX") || exit
            # By this 'assay clean' finds out whether somebody still removes the folder: this process, and when it began.
            printf '%s %s\n' $$ "$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20)" >"$folder/holder"
        fi
        reply folder "${why:-$folder}"
        IFS= read -r wanted || exit
    fi
    case $wanted in
    'engine copied')
        ASSAY_ENGINE=$folder/assay-engine
        reply engine "$(last_line "$ASSAY_ENGINE" --version)"
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
    reply started "$worker"
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
    reply ended "$code"
    exit "$code"
}
