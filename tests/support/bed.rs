//! The test bed, from Rust: a namespace of one's own, a client, the Kinesis stand-in, an API server to break.
//!
//! Owns: bringing the bed up when nobody has, and entering its network.
//! May not: know what is tested.
//!
//! The bed lives in a network namespace. A thread enters it with setns(2), and what that thread starts is inside as well:
//! its runtime, its sockets, its child processes. So each test runs on a thread of its own, and needs nothing around it.

use kube::api::{DeleteParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use millrace::api::API_VERSION;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A Kubernetes to test against, and a namespace in it.
pub(crate) struct Bed {
    place: Place,
    client: Client,
    namespace: String,
}

/// Where a bed is: the settings that `tests/bed/up` leaves in its folder.
#[derive(Clone)]
struct Place {
    state: PathBuf,
    settings: BTreeMap<String, String>,
}

/// Runs a test inside the bed that all tests share, in a namespace that goes when the test ends.
pub(crate) fn test(work: impl AsyncFnOnce(&Bed) + Send + 'static) {
    inside(shared().clone(), work);
}

/// Runs a test inside a bed of its own, etcd and API server alone, which it may break.
pub(crate) fn own(name: &str, work: impl AsyncFnOnce(&Bed) + Send + 'static) {
    let state = shared().state.with_extension(format!("own-{name}"));
    let guard = TakenDown(state.clone());
    inside(up(&state, &["--apiserver-only"]), work);
    drop(guard);
}

struct TakenDown(PathBuf);

impl Drop for TakenDown {
    fn drop(&mut self) {
        let down = Command::new(script("down")).arg(&self.0).output();
        assert!(down.is_ok_and(|output| output.status.success()) || std::thread::panicking(), "the bed did not come down");
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bed").join(name)
}

/// The shared bed: the one that `MILLRACE_BED` names, else `target/bed`. `tests/run` has brought it up; without it, it
/// is brought up here, and taken down when this process ends.
fn shared() -> &'static Place {
    static PLACE: OnceLock<Place> = OnceLock::new();
    PLACE.get_or_init(|| {
        let named = std::env::var_os("MILLRACE_BED").map(PathBuf::from);
        let state = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bed"));
        let place = match Place::of(&state) {
            Some(place) if place.answers() => place,
            _ => up(&state, &["--node"]),
        };
        install_definitions(&place);
        place
    })
}

/// Brings a bed up that lives as long as this process.
fn up(state: &Path, arguments: &[&str]) -> Place {
    let mut command = Command::new(script("up"));
    command.arg(state).args(arguments).args(["--while", &std::process::id().to_string()]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(
        output.status.success(),
        "the test bed did not come up; it needs root on Linux (tests/bed/README.md). `tests/run --quick` needs neither.\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Place::of(state).unwrap()
}

/// As the documentation says, with a client-side apply. A bed whose Kubernetes has no kubectl of its own uses ours.
fn install_definitions(place: &Place) {
    let place = place.clone();
    let installed = std::thread::spawn(move || {
        place.enter();
        let crds = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
        let applied = place.kubectl(&["apply", "-f", &crds.to_string_lossy()], "");
        assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
        // A definition that nobody has looked at yet has no conditions, which `kubectl wait` takes for an error.
        let begun = Instant::now();
        let arguments = ["wait", "--for=condition=Established", "--timeout=30s", "-f", &crds.to_string_lossy()];
        loop {
            let waited = place.kubectl(&arguments, "");
            if waited.status.success() {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", String::from_utf8_lossy(&waited.stderr));
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    installed.join().unwrap();
}

fn inside(place: Place, work: impl AsyncFnOnce(&Bed) + Send + 'static) {
    let thread = std::thread::spawn(move || {
        place.enter();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bed = Bed::enter(place).await;
            work(&bed).await;
            bed.leave().await;
        });
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

impl Place {
    fn of(state: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(state.join("env")).ok()?;
        let settings = text.lines().filter_map(|line| line.split_once('=')).map(|(key, value)| (key.to_owned(), value.to_owned()));
        Some(Self { state: state.to_owned(), settings: settings.collect() })
    }

    fn get(&self, key: &str) -> &str {
        self.settings.get(key).map_or_else(|| panic!("{}/env has no {key}: bring the bed up with it", self.state.display()), String::as_str)
    }

    fn answers(&self) -> bool {
        let place = self.clone();
        Path::new("/run/netns").join(self.get("NETNS")).exists()
            && std::thread::spawn(move || {
                place.enter();
                place.kubectl(&["get", "--raw", "/readyz"], "").status.success()
            })
            .join()
            .unwrap_or(false)
    }

    /// Moves this thread into the bed's network.
    fn enter(&self) {
        let path = Path::new("/run/netns").join(self.get("NETNS"));
        let namespace = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        nix::sched::setns(namespace, nix::sched::CloneFlags::CLONE_NEWNET).expect("entering the bed's network needs root");
    }

    fn kubectl(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(Path::new(self.get("BIN")).join("kubectl"));
        command.args(arguments).env("KUBECONFIG", self.get("KUBECONFIG"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    async fn config(&self) -> Config {
        let kubeconfig = Kubeconfig::read_from(self.get("KUBECONFIG")).unwrap();
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap()
    }

    async fn client(&self) -> Client {
        let mut config = self.config().await;
        config.read_timeout = Some(Duration::from_secs(30));
        Client::try_from(config).unwrap()
    }
}

impl Bed {
    async fn enter(place: Place) -> Self {
        // kube's TLS takes the one provider that the process has chosen.
        let client = place.client().await;
        let namespace = format!("t-{:016x}", fastrand::u64(..));
        let object = serde_json::from_value(serde_json::json!({"metadata": {"name": namespace}})).unwrap();
        let all: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
        all.create(&PostParams::default(), &object).await.unwrap();
        Self { place, client, namespace }
    }

    async fn leave(self) {
        let all: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(self.client.clone());
        // A test that has broken its API server leaves nothing that needs it.
        let _gone = all.delete(&self.namespace, &DeleteParams::background()).await;
    }

    /// A client with all rights.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// What a client with all rights is made from.
    pub(crate) async fn config(&self) -> Config {
        self.place.config().await
    }

    /// The file that gives a process all rights.
    pub(crate) fn kubeconfig(&self) -> &str {
        self.place.get("KUBECONFIG")
    }

    /// The test's own namespace.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Objects of a kind in the test's own namespace.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// Runs kubectl in the test's own namespace, with this on its standard input; it must succeed. Answers what it prints.
    pub(crate) fn kubectl(&self, arguments: &[&str], input: &str) -> String {
        let output = self.try_kubectl(arguments, input);
        assert!(output.status.success(), "kubectl {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same, whether it succeeds or not.
    pub(crate) fn try_kubectl(&self, arguments: &[&str], input: &str) -> Output {
        let mut all = vec!["--namespace", self.namespace.as_str()];
        all.extend(arguments);
        self.place.kubectl(&all, input)
    }

    /// Runs Helm in the test's own namespace; it must succeed. Answers what it prints.
    pub(crate) fn helm(&self, arguments: &[&str]) -> String {
        let output = self.try_helm(arguments);
        assert!(output.status.success(), "helm {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same, whether it succeeds or not.
    pub(crate) fn try_helm(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(helm());
        command.args(["--namespace", &self.namespace]).args(arguments).env("KUBECONFIG", self.place.get("KUBECONFIG"));
        command.output().unwrap()
    }

    /// Sends a request of ours as it stands, so that nothing our types do can hide what is sent. The path begins behind
    /// the namespace: `streampipelines?dryRun=All`. Answers the object, or what the API server says against it.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let uri = format!("/apis/{API_VERSION}/namespaces/{}/{path}", self.namespace);
        let request = http::Request::builder().method(method).uri(uri).header("content-type", "application/json");
        match self.client().request::<Value>(request.body(body.to_string().into_bytes()).unwrap()).await {
            Ok(answer) => Ok(answer),
            Err(kube::Error::Api(status)) => Err(status.message.clone()),
            Err(error) => panic!("{method} {path}: {}", whole(&error)),
        }
    }

    /// Where the Kinesis stand-in answers.
    pub(crate) fn kinesis_endpoint(&self) -> &str {
        self.place.get("KINESIS_ENDPOINT")
    }

    /// A client of the Kinesis stand-in.
    pub(crate) fn kinesis(&self) -> aws_sdk_kinesis::Client {
        let config = aws_sdk_kinesis::Config::builder()
            .behavior_version(aws_sdk_kinesis::config::BehaviorVersion::latest())
            .region(aws_sdk_kinesis::config::Region::new("eu-west-1"))
            .endpoint_url(self.place.get("KINESIS_ENDPOINT"))
            .credentials_provider(credentials())
            .build();
        aws_sdk_kinesis::Client::from_conf(config)
    }

    /// A DynamoDB in this process, gone with the test, and a client of it.
    pub(crate) async fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let database = dynoxide::Database::memory().unwrap();
        drop(tokio::spawn(async move { dynoxide::server::serve_on(listener, database).await }));
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(aws_sdk_dynamodb::config::BehaviorVersion::latest())
            .region(aws_sdk_dynamodb::config::Region::new("eu-west-1"))
            .endpoint_url(endpoint)
            .credentials_provider(credentials())
            .build();
        aws_sdk_dynamodb::Client::from_conf(config)
    }

    /// Makes an image of one program and gives it to the node, adding a node if the bed has none.
    pub(crate) fn import_image(&self, name: &str, arguments: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("image.tar");
        let made = Command::new(script("image")).arg(&archive).arg(name).args(arguments).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        up(&self.place.state, &["--node", "--image", &archive.to_string_lossy()]);
    }

    /// Gives the node the image of the program under test, laid out as the Dockerfile lays it out.
    pub(crate) fn import_millrace(&self, name: &str) {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("image.tar");
        let made = Command::new(script("millrace-image")).arg(&archive).args([name, env!("CARGO_BIN_EXE_millrace")]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        up(&self.place.state, &["--node", "--image", &archive.to_string_lossy()]);
    }

    /// Kills a container's first process, as a crash would.
    pub(crate) fn kill_container(&self, id: &str) {
        let socket = self.place.get("CONTAINERD_SOCKET");
        let killed =
            Command::new("ctr").args(["--address", socket, "--namespace", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", id]).output();
        let killed = killed.unwrap();
        assert!(killed.status.success(), "{}", String::from_utf8_lossy(&killed.stderr));
    }

    /// Kills a component, such as apiserver, as a crash would.
    pub(crate) fn kill(&self, component: &str) {
        let pid = std::fs::read_to_string(self.place.state.join("pid").join(component)).unwrap();
        let pid = nix::unistd::Pid::from_raw(pid.trim().parse().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    }

    /// Starts a component again, as it was started first.
    pub(crate) fn restart(&self, component: &str) {
        let output = Command::new(script("restart")).arg(&self.place.state).arg(component).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Helm, which the first call makes. It needs no bed to render a chart.
pub(crate) fn helm() -> PathBuf {
    let output = Command::new(script("build")).arg("helm").stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "Helm cannot be built");
    Path::new(String::from_utf8(output.stdout).unwrap().trim()).join("helm")
}

/// No stand-in checks a signature; the SDK wants to sign all the same.
fn credentials() -> aws_sdk_kinesis::config::Credentials {
    aws_sdk_kinesis::config::Credentials::new("test", "test", None, None, "test")
}

/// Tries until it answers something, for up to half a minute; then says what it was waiting for.
pub(crate) async fn eventually<T>(what: &str, attempt: impl AsyncFnMut() -> Result<T, String>) -> T {
    within(Duration::from_secs(30), what, attempt).await
}

/// The same, for so long.
pub(crate) async fn within<T>(limit: Duration, what: &str, mut attempt: impl AsyncFnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match attempt().await {
            Ok(found) => return found,
            Err(why) if begun.elapsed() > limit => panic!("waited in vain for {what}: {why}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// All of an error and its causes, in one line.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _infallible = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
