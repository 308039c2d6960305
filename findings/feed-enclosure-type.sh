#!/usr/bin/env bash
# The npm package feed calls a recording an image, as long as it is given by its address alone.
#
# Version:   feed 6.0.0 (npm).
# Expected:  an RSS enclosure has the media type of its file (RSS 2.0, <enclosure>): audio/mpeg
#            for an .mp3. A generator that does not know it could ask for it.
# Seen:      `enclosure: "https://example.org/talk.mp3"` becomes type="image/mp3", the extension
#            after a fixed "image/", with length="0". `audio:` makes audio/mp3, which is not
#            registered either.
# Why:       a reader that lists images, audio and video by the type of an enclosure lists this
#            recording among the pictures. The type in a feed is a hint, and the extension another.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund feed@6.0.0

cat >write.mjs <<'END'
import { Feed } from "feed";

const ADDRESS = "https://example.org/talk.mp3";
const feed = new Feed({ title: "Talks", id: "https://example.org/", link: "https://example.org/" });
for (const media of [{ enclosure: ADDRESS }, { audio: ADDRESS }]) {
  feed.addItem({ title: "Talk", link: "https://example.org/talk", date: new Date(0), ...media });
}
const types = [...feed.rss2().matchAll(/<enclosure [^>]*type="([^"]*)"/g)].map((match) => match[1]);
console.log("enclosure, audio:", types.join(", "));
if (types.join() !== "image/mp3,audio/mp3") {
  console.log("changed: the types are others");
  process.exit(1);
}
END
node write.mjs
