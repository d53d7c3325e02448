//! Which replica of the operator acts.
//!
//! Owns: the Lease of the operator's leader: when to take it, to renew it, to give it up.
//! May not: be what safety rests on: a leader that is stopped and wakes may still write, and the epochs and revisions of
//! what it writes keep that harmless.

mod candidate;

use crate::env::{Env, first_of};
use candidate::{Act, Candidate, Seen};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use std::time::Duration;
use tokio::sync::watch;

/// How long the leader may be silent.
const TTL: Duration = Duration::from_secs(15);
/// How often its Lease is looked at.
const EVERY: Duration = Duration::from_secs(3);

/// The Lease that names the leader.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its namespace.
    pub(super) namespace: String,
    /// Its name.
    pub(super) name: String,
}

/// Since when this replica leads, by its own clock; `None` while another does.
pub(super) type Term = Option<Duration>;

/// Takes part in elections until told to stop; then gives the Lease up. `beat` is called on every turn.
pub(super) async fn keep(
    client: Client,
    env: Env,
    place: Place,
    (told, stop): (watch::Sender<Term>, watch::Receiver<bool>),
    beat: impl Fn() + Send,
) {
    let identity = format!("{}-{:016x}", place.name, env.random().number());
    let api: Api<Lease> = Api::namespaced(client, &place.namespace);
    let mut office = Office { api, env, place, candidate: Candidate::new(identity, TTL), since: None };
    let mut stop = stop;
    while !*stop.borrow() {
        office.turn(&told).await;
        beat();
        let wait = office.env.clock().sleep(EVERY);
        // A stop that nobody can tell any more is one.
        let stopped = async { drop(stop.wait_for(|stop| *stop).await) };
        first_of(stopped, wait).await.unwrap_or(());
    }
    told.send_replace(None);
    office.leave().await;
}

struct Office {
    api: Api<Lease>,
    env: Env,
    place: Place,
    candidate: Candidate,
    since: Term,
}

impl Office {
    /// Looks at the Lease once, and does what is to be done. A call that takes too long has failed.
    async fn turn(&mut self, told: &watch::Sender<Term>) {
        let sent = self.env.clock().monotonic();
        let limit = self.env.clock().sleep(EVERY);
        let done = first_of(self.look(), limit).await;
        if let Some(Err(error)) = done {
            tracing::warn!(%error, "the leader's Lease cannot be read or written");
        } else if let Some(Ok(true)) = done {
            self.candidate.held(sent);
        }
        let now = self.env.clock().monotonic();
        let leads = self.candidate.leads(now);
        if leads != self.since.is_some() {
            self.since = leads.then_some(now);
            tracing::info!(leads, identity = self.candidate.identity(), "the leader has changed");
            told.send_replace(self.since);
        }
    }

    /// Whether the Lease is ours after this.
    async fn look(&mut self) -> Result<bool, kube::Error> {
        let found = self.api.get_opt(&self.place.name).await?;
        let now = self.env.clock().monotonic();
        match self.candidate.act(now, found.as_ref().map(Seen::of).as_ref()) {
            Act::Wait => Ok(false),
            Act::Take => self.write(found, true).await,
            Act::Renew => self.write(found, false).await,
        }
    }

    /// A refusal means that somebody else was there first.
    async fn write(&self, found: Option<Lease>, takes: bool) -> Result<bool, kube::Error> {
        let lease = self.lease(found.as_ref(), takes);
        let params = PostParams::default();
        let done = match found {
            None => self.api.create(&params, &lease).await,
            Some(_) => self.api.replace(&self.place.name, &params, &lease).await,
        };
        match done {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn lease(&self, found: Option<&Lease>, takes: bool) -> Lease {
        let mut lease = found.cloned().unwrap_or_default();
        lease.metadata.name = Some(self.place.name.clone());
        let now = Timestamp::from_microsecond(self.env.clock().wall_micros()).unwrap_or_default();
        let mut spec = lease.spec.take().unwrap_or_default();
        if takes {
            spec.acquire_time = Some(MicroTime(now));
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or_default().saturating_add(1));
        }
        spec.holder_identity = Some(self.candidate.identity().to_owned());
        spec.lease_duration_seconds = i32::try_from(TTL.as_secs()).ok();
        spec.renew_time = Some(MicroTime(now));
        lease.spec = Some(spec);
        lease
    }

    /// Lets another replica act at once.
    async fn leave(&self) {
        let release = async {
            let Some(mut lease) = self.api.get_opt(&self.place.name).await? else { return Ok(()) };
            let spec = lease.spec.get_or_insert_default();
            if spec.holder_identity.as_deref() != Some(self.candidate.identity()) {
                return Ok(());
            }
            spec.holder_identity = Some(String::new());
            self.api.replace(&self.place.name, &PostParams::default(), &lease).await.map(|_| ())
        };
        let limit = self.env.clock().sleep(EVERY);
        if let Some(Err::<(), kube::Error>(error)) = first_of(release, limit).await {
            tracing::warn!(%error, "the leader's Lease is not given up; another replica takes it when its time is over");
        }
    }
}
