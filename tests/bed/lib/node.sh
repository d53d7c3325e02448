# Part of `up`: a node that runs real pods (containerd, kubelet, kube-proxy) and the cluster's DNS. Sourced.
# shellcheck shell=bash
# shellcheck disable=SC2154 # common.sh sets them

# What the kubelet sets on the whole machine, not on the bed alone. The machine's own values are kept until the
# last bed with a node goes.
sysctls="vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes"

remember_host() {
	no_kubelet_of_the_machine || fail "this machine has a kubelet of its own, whose $kubelet_socket ours would take; use another machine for a bed with a node"
	(
		flock 8
		touch "$host/node.$netns"
		rm -f "$host/sysctl.restored"
		# shellcheck disable=SC2086 # a list of names
		[ -e "$host/sysctl" ] || { sysctl $sysctls > "$host/sysctl.part" && mv "$host/sysctl.part" "$host/sysctl"; }
	) 8> "$host/lock"
}

containerd_config() {
	cat <<-TOML
	version = 2
	root = "$runtime/containerd"
	state = "$runtime/run/containerd"
	oom_score = 0
	[grpc]
	  address = "$runtime/run/containerd.sock"
	[plugins."io.containerd.grpc.v1.cri"]
	  sandbox_image = "example.test/pause:1"
	  # A root without CAP_SYS_RESOURCE cannot lower a process's score, and Guaranteed pods would fail.
	  restrict_oom_score_adj = true
	  disable_apparmor = true
	  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
	    runtime_type = "io.containerd.runc.v2"
	    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
	      Root = "$runtime/run/runc"
	      SystemdCgroup = false
	  [plugins."io.containerd.grpc.v1.cri".cni]
	    bin_dir = "/usr/lib/cni"
	    conf_dir = "$state/etc/cni"
	[plugins."io.containerd.internal.v1.opt"]
	  path = "$runtime/containerd/opt"
	TOML
}

cni_config() {
	cat <<-JSON
	{"cniVersion": "0.4.0", "name": "$netns", "plugins": [
	  {"type": "bridge", "bridge": "pods0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
	   "ipam": {"type": "host-local", "dataDir": "$runtime/addresses", "ranges": [[{"subnet": "$pods"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
	  {"type": "portmap", "capabilities": {"portMappings": true}}]}
	JSON
}

kubelet_config() {
	cat <<-YAML
	apiVersion: kubelet.config.k8s.io/v1beta1
	kind: KubeletConfiguration
	authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $state/pki/ca.crt}}
	authorization: {mode: Webhook}
	tlsCertFile: $state/pki/kubelet.crt
	tlsPrivateKeyFile: $state/pki/kubelet.key
	containerRuntimeEndpoint: unix://$runtime/run/containerd.sock
	# Two beds with a node each must not take each other's pods for orphans.
	cgroupRoot: /$cgroup
	cgroupDriver: cgroupfs
	failCgroupV1: false
	failSwapOn: false
	oomScoreAdj: 0
	maxOpenFiles: 20000
	clusterDNS: [$dns]
	clusterDomain: cluster.local
	resolvConf: $state/etc/resolv.conf
	podLogsDir: $state/log/pods
	volumePluginDir: $runtime/kubelet/volume-plugins
	evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
	# Images come by import and cannot be pulled again, so they stay however full the disk is.
	imageGCHighThresholdPercent: 100
	registerNode: true
	YAML
}

proxy_config() {
	cat <<-YAML
	apiVersion: kubeproxy.config.k8s.io/v1alpha1
	kind: KubeProxyConfiguration
	mode: iptables
	clientConnection: {kubeconfig: $state/etc/proxy.kubeconfig}
	clusterCIDR: $pods
	hostnameOverride: node1
	conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
	YAML
}

# No cache and short lives: a test asks for a name right before and right after its pod comes.
dns_config() {
	cat <<-COREFILE
	. {
	  bind $dns
	  ready $dns:8181
	  errors
	  hosts {
	    $address kinesis.bed.internal
	    no_reverse
	    ttl 1
	    fallthrough
	  }
	  kubernetes cluster.local in-addr.arpa ip6.arpa {
	    kubeconfig $state/etc/dns.kubeconfig
	    pods insecure
	    ttl 1
	  }
	  # There is nobody to ask about any other name.
	  template ANY ANY {
	    rcode NXDOMAIN
	  }
	}
	COREFILE
}

make_cgroup() {
	local base
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		mkdir -p "/sys/fs/cgroup/$cgroup"
		return
	fi
	for base in /sys/fs/cgroup/*/; do mkdir -p "$base$cgroup"; done
}

start_containerd() {
	mkdir -p "$state/etc/cni"
	containerd_config > "$state/etc/containerd.toml"
	cni_config > "$state/etc/cni/10-pods.conflist"
	start containerd containerd --config "$state/etc/containerd.toml"
}

import_image() { # TAR
	ctr --address "$runtime/run/containerd.sock" --namespace k8s.io images import "$1" >> "$state/log/import" 2>&1 ||
		fail "containerd does not take the image $1; see $state/log/import"
}

start_dns() {
	local folder
	folder=$("$bed/build" dns)
	dns_config > "$state/etc/Corefile"
	inside ip addr replace "$dns/32" dev node0
	start dns "$folder/dns" -conf "$state/etc/Corefile"
}

start_node() {
	echo "nameserver $dns" > "$state/etc/resolv.conf"
	kubelet_config > "$state/etc/kubelet.yaml"
	proxy_config > "$state/etc/proxy.yaml"
	make_cgroup
	start kubelet "$state/bin/kubelet" --config="$state/etc/kubelet.yaml" --kubeconfig="$state/etc/kubelet.kubeconfig" \
		--hostname-override=node1 --node-ip="$address" --root-dir="$runtime/kubelet" --cert-dir="$runtime/kubelet/pki"
	start proxy "$state/bin/kube-proxy" --config="$state/etc/proxy.yaml"
}

containerd_is_ready() { wait_for containerd 30 ctr --address "$runtime/run/containerd.sock" version; }
node_is_ready() {
	wait_for "the node" 60 kubectl wait --for=condition=Ready node/node1 --timeout=1s
	wait_for "the cluster's DNS" 30 answers "$dns" 8181 /ready
}
