/**
 * The record that `npm run test:long -- --write` keeps: how long each file took and how many of its tests passed, in `results/test-long-<date>.json` and
 * in its place in README.md. A reporter of vitest (vitest.config.ts).
 */
import path from "node:path";
import type { Reporter, TestModule } from "vitest/node";
import { markdown } from "./figures.ts";
import { aboutLine, machine, today, writeReadme, writeResult } from "./report.ts";

const ROOT = path.join(import.meta.dirname, "..");

type Row = { file: string; passed: number; failed: number; seconds: number };

function rowOf(module: TestModule): Row {
  const states = [...module.children.allTests()].map((one) => one.result().state);
  return {
    file: path.relative(ROOT, module.moduleId),
    passed: states.filter((state) => state === "passed").length,
    failed: states.filter((state) => state === "failed").length,
    seconds: module.diagnostic().duration / 1_000,
  };
}

export default class LongResult implements Reporter {
  readonly #about = machine();
  readonly #since = performance.now();

  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = modules.map(rowOf).toSorted((a, b) => b.seconds - a.seconds);
    const minutes = (performance.now() - this.#since) / 60_000;
    writeResult(`test-long-${today()}`, { ...this.#about, minutes, files: rows });
    const table = markdown(
      ["file", "passed", "failed", "seconds"],
      rows.map(({ file, passed, failed, seconds }) => ({
        file: `\`${file}\``,
        passed: `${passed}`,
        failed: `${failed}`,
        seconds: seconds.toFixed(0),
      })),
    );
    writeReadme("test-long", `${aboutLine(this.#about)} · minutes: ${minutes.toFixed(1)}\n\n${table}`);
  }
}
