// npm's sitemapper. `--version`; or `walk URL`; or `collect`, with URLs on standard input.
// Prints JSON, as the processes of the other libraries do.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import Sitemapper from "sitemapper";

const PATIENCE = 20_000; // milliseconds for one document of `collect`
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
  for (const sitemap of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    let urls = [];
    let error = "";
    try {
      const result = await new Sitemapper({ timeout: PATIENCE, retries: 0 }).fetch(sitemap);
      urls = result.sites;
      error = (result.errors ?? []).map((e) => `${e.type}: ${e.message}`).join("; ");
    } catch (problem) {
      error = String(problem);
    }
    console.log(JSON.stringify([sitemap, urls, error]));
  }
}

if (command === "--version") {
  console.log(createRequire(import.meta.url)("sitemapper/package.json").version);
} else {
  await { walk, collect }[command]();
}
