# The image of operator and workers: one program, on a base that has neither a shell nor a package manager.
#
#   docker build --tag millrace .
#
# Nothing in it is tied to one architecture. tests/bed/millrace-image makes an image of the same layout without a
# builder: it reads the program's place, the user and the command from the last stage.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --release --bin millrace

# The C library and the CA certificates.
FROM gcr.io/distroless/cc-debian12
COPY --from=build /src/target/release/millrace /usr/local/bin/millrace
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/millrace"]
