#!/usr/bin/env bash
# Two verifiers disagree on a request whose Signature-Agent header is a dictionary.
#
# Versions:  web-bot-auth 0.1.3 and http-message-signatures 1.0.6 (npm).
# Expected:  RFC 9421, 2.1.2: the component "signature-agent";key="sig1" is one member of a header
#            that is a dictionary. draft-ietf-webbotauth-httpsig-protocol-00 has agents sign so.
# Seen:      http-message-signatures verifies its own request. web-bot-auth takes the whole
#            header for the member, and says "invalid signature". Both accept the older form,
#            where the header is a string and the component has no key.
# Why:       a crawler that signs its fetches of sitemaps is refused by servers that verify with
#            the one, though its signature is right: the form has to be chosen for each server.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund web-bot-auth@0.1.3 http-message-signatures@1.0.6

cat >verify.mjs <<'END'
import { generateKeyPairSync } from "node:crypto";
import signatures from "http-message-signatures";
import { helpers, jwkToKeyID, verify } from "web-bot-auth";
import { verifierFromJWK } from "web-bot-auth/crypto";

const { createSigner, createVerifier, httpbis } = signatures;
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const jwk = publicKey.export({ format: "jwk" });
const id = await jwkToKeyID(jwk, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE);
const key = { id, algs: ["ed25519"], verify: createVerifier(publicKey, "ed25519") };

async function answers(header, component) {
  const created = new Date();
  const request = {
    method: "GET",
    url: "https://example.org/sitemap.xml",
    headers: { "signature-agent": header },
  };
  const config = {
    key: createSigner(privateKey, "ed25519", id),
    name: "sig1",
    fields: ["@authority", component],
    params: ["created", "expires", "keyid", "tag"],
    paramValues: { created, expires: new Date(+created + 300_000), tag: "web-bot-auth" },
  };
  const signed = await httpbis.signMessage(config, request);
  const first = await httpbis.verifyMessage({ keyLookup: async () => key }, signed);
  const received = new Request(signed.url, { headers: signed.headers });
  const second = await verify(received, await verifierFromJWK(jwk)).then(() => true, (error) => error.message);
  return `${first}, ${second}`;
}

const text = await answers('"https://bot.example"', "signature-agent");
const dictionary = await answers('sig1="https://bot.example"', 'signature-agent;key="sig1"');
console.log(`string: ${text}\ndictionary: ${dictionary}`);
if (text !== "true, true" || dictionary !== "true, invalid signature") {
  console.log("changed: the two verify otherwise");
  process.exit(1);
}
END
node verify.mjs
