# Part of `up`: the network, the certificates, etcd, the API server, and what runs beside them. Sourced.
# shellcheck shell=bash
# shellcheck disable=SC2154 # common.sh and `up` set them

# --- network -------------------------------------------------------------------------------------

# A namespace that leads nowhere else: nothing in it can disturb the machine's network, and two beds can have
# the same addresses.
make_network() {
	mkdir -p "$host"
	(
		flock 8
		# The first `ip netns add` on a machine turns this folder into a mount; `down` has to know whether it was us.
		mountpoint -q /run/netns || touch "$host/netns-mounted"
		ip netns add "$netns"
	) 8> "$host/lock"
	inside ip link set lo up
	inside ip link add node0 type bridge # stands in for a network card; some kernels have no dummy device
	inside ip addr add "$address/24" dev node0
	inside ip link set node0 up
	inside ip route add default dev node0
	inside sysctl -qw net.ipv4.ip_forward=1
}

# --- certificates --------------------------------------------------------------------------------

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "pki/$1.key"; }

authority() { # NAME
	new_key "$1"
	openssl req -x509 -key "pki/$1.key" -days 30 -subj "/CN=$1" -out "pki/$1.crt"
}

certificate() { # NAME AUTHORITY SUBJECT [SUBJECT-ALTERNATIVE-NAMES]
	new_key "$1"
	openssl req -new -key "pki/$1.key" -subj "$3" -out "pki/$1.csr"
	openssl x509 -req -in "pki/$1.csr" -CA "pki/$2.crt" -CAkey "pki/$2.key" -CAcreateserial -days 30 -out "pki/$1.crt" \
		-extfile <(echo "extendedKeyUsage=serverAuth,clientAuth"; [ -z "${4:-}" ] || echo "subjectAltName=$4")
}

kubeconfig() { # NAME
	local pki=$state/pki
	cat > "$state/etc/$1.kubeconfig" <<-YAML
	apiVersion: v1
	kind: Config
	clusters: [{name: bed, cluster: {server: "https://$address:6443", certificate-authority-data: $(base64 -w0 "$pki/ca.crt")}}]
	users: [{name: $1, user: {client-certificate-data: $(base64 -w0 "$pki/$1.crt"), client-key-data: $(base64 -w0 "$pki/$1.key")}}]
	contexts: [{name: bed, context: {cluster: bed, user: $1}}]
	current-context: bed
	YAML
}

make_certificates() {
	local names="DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,DNS:localhost"
	(
		cd "$state" || exit
		authority ca
		authority front-proxy-ca
		openssl genrsa -out pki/service-accounts.key 2048
		certificate apiserver ca /CN=kube-apiserver "IP:$address,IP:10.96.0.1,IP:127.0.0.1,$names"
		certificate kubelet ca /O=system:nodes/CN=system:node:node1 "IP:$address,DNS:node1"
		certificate admin ca /O=system:masters/CN=admin
		certificate apiserver-kubelet ca /O=system:masters/CN=apiserver-kubelet
		certificate dns ca /O=system:masters/CN=dns
		certificate controller-manager ca /CN=system:kube-controller-manager
		certificate scheduler ca /CN=system:kube-scheduler
		certificate proxy ca /CN=system:kube-proxy
		certificate front-proxy front-proxy-ca /CN=front-proxy
	) > "$state/log/certificates" 2>&1
	touch "$state/pki/.complete"
}

# Kept from one `up` to the next, as long as they are good for another day.
have_certificates() {
	[ -e "$state/pki/.complete" ] && openssl x509 -checkend 86400 -noout -in "$state/pki/ca.crt" > /dev/null
}

need_credentials() {
	local name
	have_certificates || make_certificates
	for name in admin controller-manager scheduler kubelet proxy dns; do kubeconfig "$name"; done
}

# --- programs ------------------------------------------------------------------------------------

link_program() { # NAME FOLDER...: STATE/bin/NAME leads to the first FOLDER that has it
	local name=$1 folder
	shift
	for folder; do
		[ -x "$folder/$name" ] || continue
		ln -sfn "$folder/$name" "$state/bin/$name"
		return 0
	done
	return 1
}

choose_programs() { # FOLDER...: where to look before our own
	local name own="" names="kube-apiserver kubectl"
	[ "$level" = apiserver ] || names+=" kube-controller-manager kube-scheduler"
	[ "$level" != node ] || names+=" kubelet kube-proxy"
	link_program etcd "$@" /usr/bin /usr/local/bin || fail "etcd is missing (Debian has it in etcd-server)"
	for name in $names; do
		link_program "$name" "$@" && continue
		own=${own:-$("$bed/build" kubernetes)} # minutes the first time, so not before it is clear that it is needed
		link_program "$name" "$own" || fail "$name is missing in $own; remove that folder and try again"
	done
}

# --- processes -----------------------------------------------------------------------------------

start_etcd() {
	install -d -m 700 "$runtime/etcd"
	start etcd "$state/bin/etcd" --data-dir "$runtime/etcd" --unsafe-no-fsync \
		--listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
		--listen-peer-urls http://127.0.0.1:2380
}

start_apiserver() {
	local pki=$state/pki
	start apiserver "$state/bin/kube-apiserver" \
		--etcd-servers=http://127.0.0.1:2379 --bind-address=0.0.0.0 --advertise-address="$address" --secure-port=6443 \
		--tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
		--service-account-key-file="$pki/service-accounts.key" --service-account-signing-key-file="$pki/service-accounts.key" \
		--service-account-issuer=https://kubernetes.default.svc.cluster.local --service-cluster-ip-range="$services" \
		--authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
		--kubelet-client-certificate="$pki/apiserver-kubelet.crt" --kubelet-client-key="$pki/apiserver-kubelet.key" \
		--kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP \
		--requestheader-client-ca-file="$pki/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy \
		--requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group \
		--requestheader-username-headers=X-Remote-User \
		--proxy-client-cert-file="$pki/front-proxy.crt" --proxy-client-key-file="$pki/front-proxy.key"
}

start_controllers() {
	local etc=$state/etc pki=$state/pki config
	config=$etc/controller-manager.kubeconfig
	start controller-manager "$state/bin/kube-controller-manager" \
		--kubeconfig="$config" --authentication-kubeconfig="$config" --authorization-kubeconfig="$config" \
		--service-account-private-key-file="$pki/service-accounts.key" --root-ca-file="$pki/ca.crt" \
		--cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key" \
		--use-service-account-credentials --leader-elect=false --bind-address=127.0.0.1
	config=$etc/scheduler.kubeconfig
	start scheduler "$state/bin/kube-scheduler" \
		--kubeconfig="$config" --authentication-kubeconfig="$config" --authorization-kubeconfig="$config" \
		--leader-elect=false --bind-address=127.0.0.1
}

start_kinesis() {
	local folder program
	folder=$("$bed/build" kinesis)
	program=$folder/node_modules/kinesis-local
	# States of streams and shards pass in 10 ms, so that a test of a reshard need not sleep.
	start kinesis env KINESIS_MOCK_PLAIN_PORT=4568 KINESIS_MOCK_TLS_PORT=4567 KINESIS_MOCK_CERT_PATH="$program/server.json" \
		SHARD_LIMIT=5000 LOG_LEVEL=ERROR CREATE_STREAM_DURATION=10ms SPLIT_SHARD_DURATION=10ms \
		MERGE_SHARDS_DURATION=10ms UPDATE_SHARD_COUNT_DURATION=10ms CLOCK_FILE="$state/etc/kinesis.clock" \
		node -r "$folder/clock.js" "$program/main.js"
}

apiserver_is_ready() { wait_for "the API server" 90 kubectl get --raw /readyz; }
kinesis_is_ready() { wait_for "the Kinesis stand-in" 60 answers "$address" 4568 /healthcheck; }
