//! The forms of texts in manifests: what each must look like, and what to say where it does not.
//!
//! Owns: patterns and their messages, as rules. (As `pattern` in a schema, the answer would be the expression alone.)
//! May not: know where one is used.

use super::schema::{Rule, rule};

macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident $pattern:literal $message:literal;)*) => {
        $($(#[$doc])* pub(super) fn $name() -> Rule { form($pattern, $message) })*
    };
}

fn form(pattern: &str, message: &str) -> Rule {
    rule(format!("self.matches('{}')", pattern.replace('\\', r"\\")), message)
}

forms! {
    /// A name of something in the pipeline, part of names and labels of children.
    label_name r"^[a-z]([-a-z0-9]*[a-z0-9])?$" "write a name of lower-case letters, digits and dashes, beginning with a letter, such as alarms-1";
    /// The name of an object of Kubernetes.
    object_name r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" "write the name of an object of Kubernetes: lower-case letters, digits, dashes and dots";
    /// A key of a `ConfigMap` or Secret.
    data_key r"^[-._a-zA-Z0-9]+$" "write a key of a ConfigMap or Secret: letters, digits, dashes, dots and underscores";
    /// A stream of the root.
    identifier r"^[A-Za-z_][A-Za-z0-9_]*$" "write the name of a stream of the root: letters, digits and underscores, not beginning with a digit";
    /// A field of a payload.
    pointer r"^(/([^~/]|~[01])*)+$" "write a JSON pointer such as /device/id";
    /// What binds to an input.
    binding r"^([a-z]([-a-z0-9]*[a-z0-9])?:)?((/([^~/]|~[01])*)*|@(partitionKey|sequenceNumber|arrivalTime|shard|data))$" "write a JSON pointer such as /sensor/temp, or one of @partitionKey, @sequenceNumber, @arrivalTime, @shard, @data; with several streams, behind the stream's name: orders:/amount";
    /// A Kinesis stream by name.
    stream_name r"^[a-zA-Z0-9_.-]+$" "write the name of a Kinesis stream: letters, digits, underscores, dots and dashes";
    /// A Kinesis stream by ARN.
    stream_arn r"^arn:[a-z0-9-]+:kinesis:[a-z0-9-]+:[0-9]{12}:stream/[a-zA-Z0-9_.-]{1,128}$" "write the ARN of a Kinesis stream, such as arn:aws:kinesis:eu-west-1:123456789012:stream/telemetry";
    /// A role to assume.
    role_arn r"^arn:[a-z0-9-]+:iam::[0-9]{12}:role/[!-~]+$" "write the ARN of an IAM role, such as arn:aws:iam::123456789012:role/reader";
    /// An AWS region.
    region r"^[a-z0-9-]+$" "write an AWS region, such as eu-west-1";
    /// Where a service is.
    endpoint r"^https?://[!-~]+$" "write a URL that begins with http:// or https://, such as http://localhost:4566";
    /// A fan-out consumer.
    consumer_name r"^[a-zA-Z0-9_.-]+$" "write the name of a fan-out consumer: letters, digits, underscores, dots and dashes";
    /// A DynamoDB table.
    table_name r"^[a-zA-Z0-9_.-]+$" "write the name of a DynamoDB table: letters, digits, underscores, dots and dashes";
    /// Where state is kept.
    store_url r"^(s3://[a-z0-9][-a-z0-9.]{1,61}[a-z0-9](/[!-~]*)?|file:///[!-~]+)$" "write s3://bucket/prefix, with a bucket of lower-case letters, digits, dashes and dots, or file:///path";
    /// A header of a request.
    header_name r"^[-!#$%&+.^_|~0-9A-Za-z]+$" "write the name of a header, such as Authorization";
    /// The value of a header.
    header_value r"^[ -~\t]*$" "write a value of visible characters, blanks and tabs";
    /// A file's SHA-256.
    sha256 r"^(sha256:)?[0-9a-f]{64}$" "write the SHA-256 of the text, 64 hexadecimal digits, as sha256sum prints it";
    /// A revision's digest.
    digest r"^sha256:[0-9a-f]{64}$" "write a digest as millrace prints it: sha256: and 64 hexadecimal digits";
    /// An image.
    image r"^[!-~]+$" "write an image without blanks, such as registry.example.com/millrace:1.0";
    /// The value of a label.
    label_value r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$" "write the value of a label: letters, digits, dashes, dots and underscores, beginning and ending with a letter or digit";
}
