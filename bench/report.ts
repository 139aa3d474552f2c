/** Where the figures go: the terminal, `results/<date>.json`, and their place in README.md. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { median } from "./measure.ts";

const FOLDER = import.meta.dirname;

export const today = (): string => new Date().toISOString().slice(0, 10);

/** The conditions that the numbers depend on. */
export function machine(): Record<string, string> {
  return {
    date: `${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`,
    machine: `${os.availableParallelism()} cores, ${Math.round(os.totalmem() / 2 ** 30)} GB, ${os.type()} ${os.arch()}, fsync ${fsyncMs().toFixed(2)} ms`,
    node: process.version,
    load: os.loadavg()[0]!.toFixed(1),
  };
}

export const aboutLine = (about: Record<string, string>): string =>
  Object.entries(about)
    .map(([name, value]) => `${name}: ${value}`)
    .join(" · ");

const FSYNCS = 200;

/** Median of an append of 8 kB and its fdatasync in the temporary folder: a commit can't be faster. */
function fsyncMs(): number {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "autograph-bench-")), "probe");
  const handle = fs.openSync(file, "w");
  const block = Buffer.alloc(8192);
  const times = Array.from({ length: FSYNCS }, () => {
    const since = performance.now();
    fs.writeSync(handle, block);
    fs.fdatasyncSync(handle);
    return performance.now() - since;
  });
  fs.closeSync(handle);
  fs.rmSync(path.dirname(file), { recursive: true });
  return median(times);
}

export function writeResult(name: string, result: object): string {
  const file = path.join(FOLDER, "results", `${name}.json`);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `${JSON.stringify(result, rounded, 2)}\n`);
  return path.relative(process.cwd(), file);
}

const rounded = (_key: string, value: unknown): unknown =>
  typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;

/** Replaces what stands between `<!-- name -->` and `<!-- /name -->`. */
export function writeReadme(name: string, text: string): void {
  const file = path.join(FOLDER, "README.md");
  const before = fs.readFileSync(file, "utf8");
  const place = new RegExp(`(<!-- ${name} -->\n).*?(<!-- /${name} -->)`, "s");
  if (!place.test(before)) throw new Error(`bench/README.md has no place for ${name}`);
  fs.writeFileSync(
    file,
    before.replace(place, (_, open: string, close: string) => `${open}${text}\n${close}`),
  );
}
