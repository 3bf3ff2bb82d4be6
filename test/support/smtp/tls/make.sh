#!/bin/sh
# Makes the certificates in this folder, valid for 100 years. They are for tests on loopback and protect nothing.
# The authority's own key is thrown away.
set -eu
cd "$(dirname "$0")"
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

key() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

# signed <file name> <subjectAltName>
signed() {
  key "$1.key"
  printf 'subjectAltName=%s\nbasicConstraints=CA:false\n' "$2" > "$temporary/extensions"
  openssl req -new -key "$1.key" -subj "/CN=$1" -out "$temporary/request"
  openssl x509 -req -in "$temporary/request" -CA ca.pem -CAkey "$temporary/ca.key" -days 36500 \
    -extfile "$temporary/extensions" -out "$1.pem"
}

key "$temporary/ca.key"
openssl req -x509 -key "$temporary/ca.key" -days 36500 -subj '/CN=Test authority' -out ca.pem
signed server 'DNS:localhost,IP:127.0.0.1'
signed other-name 'DNS:other.example'
