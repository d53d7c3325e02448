# What `down` does, and `up` when it fails: ends everything that a bed has started and puts the machine back.
# Each part works whatever is there: after a half `up`, after another `down`, with STATE gone. Sourced.
# shellcheck shell=bash
# shellcheck disable=SC2154 # common.sh sets them

# --- who is there --------------------------------------------------------------------------------

# The bed's pods' network namespaces (CNI's, named cni-…): those whose cable leads into the bed, and those that
# a sandbox of the bed's containerd names.
pod_namespaces() {
	local name
	{
		for name in $(ip netns list | awk '/^cni-/ { print $1 }'); do
			! ip -n "$name" -o link show type veth 2> /dev/null | grep -qw "link-netns $netns" || echo "$name"
		done
		cat "$runtime"/run/containerd/io.containerd.runtime.v2.task/k8s.io/*/config.json 2> /dev/null |
			{ grep -o 'netns/cni-[0-9a-f-]*' || true; } | cut -d/ -f2 | while read -r name; do
				[ ! -e "/run/netns/$name" ] || echo "$name"
			done || true
	} | sort -u
}

pod_cgroups() { # deepest first
	find /sys/fs/cgroup -maxdepth 2 -type d -name "$cgroup" -exec find {} -depth -type d \; 2> /dev/null
}

pod_processes() {
	local folder name
	for folder in $(pod_cgroups); do cat "$folder/cgroup.procs" 2> /dev/null || true; done
	for name in $(pod_namespaces); do ip netns pids "$name" 2> /dev/null || true; done
}

# containerd's shims outlive it.
shims() {
	local pid
	for pid in $(bed_processes); do
		case $(cat "/proc/$pid/comm" 2> /dev/null) in containerd-shim*) echo "$pid" ;; esac
	done
}

bed_processes() { [ ! -e "/run/netns/$netns" ] || ip netns pids "$netns"; }

mounts() { awk -v prefix="$runtime/" 'index($2, prefix) == 1 { print $2 }' /proc/mounts | sort -r; }

# --- taking away ---------------------------------------------------------------------------------

until_gone() { # LIST ACT...: does ACT to each that LIST prints until it prints none, ten seconds at most
	local list=$1 deadline=$((SECONDS + 10)) items item
	shift
	while items=$("$list" || true) && [ -n "$items" ] && ((SECONDS < deadline)); do
		for item in $items; do "$@" "$item" 2> /dev/null || true; done
		sleep 0.02
	done
}

# What containerd and the kubelet leave in folders that are not the bed's own.
remove_traces() {
	local container socket
	for container in "$runtime"/run/containerd/io.containerd.runtime.v2.task/k8s.io/*/; do
		socket=$(cat "$container/address" 2> /dev/null || true)
		rm -f /var/lib/cni/results/*-"$(basename "$container")"-*
		[ -z "$socket" ] || rm -f "${socket#unix://}"
	done
	find /var/log/containers -maxdepth 1 -type l -lname "$state/log/pods/*" -delete 2> /dev/null || true
}

remove_shared_traces() { # once no bed with a node is left
	! no_kubelet_of_the_machine || rm -f "$kubelet_socket"
	rmdir "${kubelet_socket%/*}" /var/lib/kubelet /var/lib/cni/results /var/lib/cni /var/log/containers \
		/run/containerd/s /run/containerd 2> /dev/null || true
}

restore_host() {
	[ -e "$host/node.$netns" ] || return 0
	(
		flock 8
		rm -f "$host/node.$netns"
		if [ -z "$(other_nodes)" ]; then
			remove_shared_traces
			sysctl -qp "$host/sysctl" || true
			mv "$host/sysctl" "$host/sysctl.restored"
		fi
	) 8> "$host/lock"
}

other_nodes() { # a bed whose namespace is gone (a restart of the machine) does not count
	local file
	for file in "$host"/node.millrace-*; do
		[ ! -e "/run/netns/${file##*/node.}" ] || echo "$file"
	done
}

take_down_node() {
	stop kubelet proxy containerd dns
	until_gone pod_processes kill -KILL
	until_gone shims kill -KILL
	remove_traces
	until_gone pod_namespaces ip netns delete
	until_gone mounts umount
	until_gone pod_cgroups rmdir
	restore_host
}

remove_network() {
	ip netns delete "$netns" 2> /dev/null || true
	[ -e "$host/netns-mounted" ] || return 0
	(
		flock 8
		[ -n "$(ls -A /run/netns)" ] || { umount /run/netns && rm -f "$host/netns-mounted"; }
	) 8> "$host/lock"
}

stop_watcher() {
	# In the end the watcher is `down`, this very process; it is no longer a watcher then.
	! watcher_is_alive || kill -KILL "$(cat "$state/pid.watcher")" 2> /dev/null || true
	rm -f "$state/pid.watcher" "$state/etc/while"
}

take_down() {
	stop_watcher
	# All at once and first: a kubelet that lives mounts again what is unmounted.
	until_gone bed_processes kill -KILL
	take_down_node
	rm -rf "$state/pid" "$state/env"
	[ -n "$(bed_processes)" ] || remove_network
	# Never through a mount: what is mounted there is not ours to delete.
	[ -n "$(mounts)" ] || rm -rf "$runtime"
	rmdir /var/lib/millrace-bed 2> /dev/null || true
}

# --- looking again -------------------------------------------------------------------------------

name_processes() { # PID...
	local pid
	for pid; do echo "process $pid: $(tr '\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null | cut -c1-100)"; done
}

left_over() { # prints what is still there
	local key value
	# shellcheck disable=SC2046 # lists of ids
	name_processes $(pod_processes; bed_processes)
	mounts | sed 's/^/mount /'
	pod_namespaces | sed 's/^/network namespace /'
	pod_cgroups | sed 's/^/cgroup /'
	[ ! -e "/run/netns/$netns" ] || echo "network namespace $netns"
	[ ! -e "$runtime" ] || echo "folder $runtime"
	[ -e "$host/sysctl.restored" ] || return 0
	# Looked at once, by the `down` that has put them back: later they are anybody's.
	mv "$host/sysctl.restored" "$host/sysctl.checked"
	while IFS=' =' read -r key value; do
		[ "$(sysctl -n "$key")" = "$value" ] || echo "sysctl $key is $(sysctl -n "$key") and was $value"
	done < "$host/sysctl.checked"
}
