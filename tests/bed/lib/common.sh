# What the bed's commands share: where a bed keeps its things, and how its processes start and end. Sourced.
# shellcheck shell=bash
# shellcheck disable=SC2034 # what is set here is used by those who source it

bed=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
command_name=$(basename "$0")
export LC_ALL=C # what programs print is read

address=10.77.0.1     # of the machine inside the bed's network, and so of all that is not a pod
services=10.96.0.0/16 # Services' addresses; the first is the API server's
dns=10.96.0.10
pods=10.78.0.0/24

# What beds with a node have to agree upon among themselves, until the machine restarts.
host=/run/millrace-bed
# The one path of the kubelet's that no setting moves.
kubelet_socket=/var/lib/kubelet/device-plugins/kubelet.sock

fail() { echo "$command_name: $*" >&2; exit 1; }
say() { echo "$command_name: $*" >&2; }

default_state() { echo "$(cd "$bed/../.." && pwd)/target/bed"; }

# A bed is known by its STATE folder. What can be named after it is named after it, so that `down` finds
# all of it even when the folder is gone (`cargo clean`).
use_state() { # STATE
	local id
	state=$(realpath -m -- "$1")
	case $state in
		*[!A-Za-z0-9_./@%+=,-]*) fail "a bed cannot live in '$state': use a path of letters, digits and _ . / @ % + = , -" ;;
	esac
	id=$(printf %s "$state" | sha256sum | cut -c1-8)
	netns=millrace-$id
	# Sockets, mounts, images, etcd's data: what goes when the bed does. Not under STATE, because a socket's
	# path has at most 108 characters, and because `cargo clean` must not walk into mounted volumes.
	runtime=/var/lib/millrace-bed/$id
	cgroup=millrace-$id
}

# One `up`, `down` or `restart` of a bed at a time. No daemon inherits the lock (9).
lock_state() {
	mkdir -p "$state"
	exec 9> "$state/lock"
	if ! flock -n 9; then
		say "waiting for another up, down or restart of $state"
		flock 9
	fi
}

need_root() {
	[ "$(id -u)" = 0 ] || fail "root is needed, for network namespaces and mounts"
}

# --- processes -----------------------------------------------------------------------------------

inside() { nsenter --net="/run/netns/$netns" "$@"; }

# Being in the bed's network namespace is what makes a process the bed's: a recorded id alone may have been
# given to another process since.
is_ours() { # PID
	[ -e "/run/netns/$netns" ] && [ "/proc/$1/ns/net" -ef "/run/netns/$netns" ]
}

is_alive() { # NAME
	[ -e "$state/pid/$1" ] && is_ours "$(cat "$state/pid/$1")"
}

start() { # NAME COMMAND...
	local name=$1
	shift
	printf '%s\n' "$@" > "$state/etc/$name.command"
	launch "$name"
}

launch() { # NAME: starts what etc/NAME.command says, one argument a line
	local name=$1 command
	mapfile -t command < "$state/etc/$name.command"
	# A direct child: nsenter and setsid become what they start, so $! is the daemon's own process id.
	nsenter --net="/run/netns/$netns" setsid "${command[@]}" >> "$state/log/$name" 2>&1 < /dev/null 9>&- &
	echo $! > "$state/pid/$name"
	disown # or bash reports its end
	# Until nsenter has done its work, nobody could tell that the process is ours.
	until is_alive "$name" || ! kill -0 "$(cat "$state/pid/$name")" 2> /dev/null; do sleep 0.01; done
}

stop() { # NAME...: nothing in a bed is worth a slow goodbye
	local name pid
	for name; do
		[ -e "$state/pid/$name" ] || continue
		pid=$(cat "$state/pid/$name")
		for _ in {1..500}; do
			is_ours "$pid" || break
			kill -KILL "$pid" 2> /dev/null || true
			sleep 0.01
		done
		rm -f "$state/pid/$name"
	done
}

dead_one() { # prints the name of a recorded process that has ended, and fails if there is none
	local file
	for file in "$state"/pid/*; do
		[ -e "$file" ] || continue
		is_alive "${file##*/}" || { echo "${file##*/}"; return 0; }
	done
	return 1
}

# --- waiting -------------------------------------------------------------------------------------

wait_for() { # WHAT SECONDS COMMAND...
	local what=$1 deadline=$((SECONDS + $2)) name
	shift 2
	until "$@" > "$state/log/wait" 2>&1; do
		if name=$(dead_one); then
			tail -n 5 "$state/log/$name" >&2
			fail "$name has ended; the last of its log is above, all of it in $state/log/$name"
		fi
		if ((SECONDS >= deadline)); then
			tail -n 5 "$state/log/wait" >&2
			fail "waited in vain for $what; the logs are in $state/log"
		fi
		sleep 0.1
	done
}

# The kernel lists the sockets of our own network namespace, which is the machine's.
no_kubelet_of_the_machine() { ! grep -qsF "$kubelet_socket" /proc/net/unix; }

kubectl() { inside "$state/bin/kubectl" --kubeconfig "$state/etc/admin.kubeconfig" "$@"; }

answers() { # ADDRESS PORT PATH: whether an HTTP server inside the bed answers 200
	# shellcheck disable=SC2016 # the inner shell expands them
	inside timeout 5 bash -c 'exec 3<> "/dev/tcp/$0/$1" && printf "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n" "$2" "$0" >&3 && read -r _ code _ <&3 && [ "$code" = 200 ]' "$@"
}

# --- beds that are kept while somebody lives -----------------------------------------------------

started_at() { # PID: when, in ticks since boot; nothing for one that has ended and waits for its parent to notice
	sed 's/.*) //' "/proc/$1/stat" 2> /dev/null | awk '$1 !~ /[ZX]/ { print $20 }'
}

still_wanted() { # whether a process in etc/while lives; its start tells it from a later one with its id
	local pid started
	[ -e "$state/etc/while" ] || return 1
	while read -r pid started; do
		[ "$(started_at "$pid")" != "$started" ] || return 0
	done < "$state/etc/while"
	return 1
}

watcher_is_alive() {
	[ -e "$state/pid.watcher" ] && tr '\0' ' ' 2> /dev/null < "/proc/$(cat "$state/pid.watcher")/cmdline" | grep -qF "lib/watch $state "
}
