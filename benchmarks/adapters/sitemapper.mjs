// npm's sitemapper: `--version`, `walk URL` or `collect URL`; prints JSON.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import Sitemapper from "sitemapper";

const PATIENCE = 20_000; // milliseconds for the document of `collect`
const [command, url] = process.argv.slice(2);

function peakMb() {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) / 1024;
  } catch {
    return process.resourceUsage().maxRSS / 1024;
  }
}

async function walk() {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const { sites } = await new Sitemapper({ timeout: 600_000, concurrency: 10 }).fetch(url);
  const seconds = (performance.now() - start) / 1000;
  const used = process.cpuUsage(cpu);
  const peak = peakMb();
  console.log(
    JSON.stringify({ urls: sites.length, first: seconds, seconds, cpu: (used.user + used.system) / 1e6, peak }),
  );
}

async function collect() {
  const { sites, errors } = await new Sitemapper({ timeout: PATIENCE, retries: 0 }).fetch(url);
  const error = (errors ?? []).map((e) => `${e.type}: ${e.message}`).join("; ");
  console.log(JSON.stringify({ urls: sites, error }));
}

if (command === "--version") {
  console.log(createRequire(import.meta.url)("sitemapper/package.json").version);
} else {
  await { walk, collect }[command]();
}
