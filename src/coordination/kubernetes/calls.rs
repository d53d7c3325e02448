//! Calls of the API server, each with a limit of time.

use super::fault::{self, Fault};
use super::place::{self, Place};
use crate::coordination::store::{Kind, StoreError};
use crate::env::{Env, first_of};
use kube::Api;
use kube::api::DynamicObject;
use std::sync::Arc;
use std::time::Duration;

/// The API server, and where in it a pipeline's objects are.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) env: Env,
    pub(super) client: kube::Client,
    pub(super) place: Arc<Place>,
    pub(super) limit: Duration,
}

impl Server {
    pub(super) fn api(&self, kind: Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.place.namespace, &place::resource(kind))
    }

    /// A call that changes nothing.
    pub(super) async fn reading<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, Fault> {
        let late = || Fault::Store(StoreError::NotWritten("no answer from the API server in time".into()));
        let answer = first_of(call, self.env.clock().sleep(self.limit)).await.ok_or_else(late)?;
        answer.map_err(|error| fault::of(&error, false))
    }

    /// A call that writes. One that is given up may still land.
    pub(super) async fn writing<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, Fault> {
        let late = || Fault::Store(StoreError::Unknown("no answer from the API server in time".into()));
        let answer = first_of(call, self.env.clock().sleep(self.limit)).await.ok_or_else(late)?;
        answer.map_err(|error| fault::of(&error, true))
    }
}
