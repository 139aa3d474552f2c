/** The work of a page's main thread, from Chromium's traces. */
import type { Browser, Page } from "playwright-core";
import type { Server } from "./launch.ts";
import type { World } from "./world.ts";

export const VIEWPORT = { width: 1280, height: 800 };
export const LONGEST_TASK_MS = 50;
const FRAME_MS = 1_000 / 60;

export async function enter(page: Page, server: Server, { email, password }: World): Promise<void> {
  await page.goto(server.url);
  await page.getByLabel("E-mail").fill(email);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Agents" }).waitFor();
}

/** The work of a page while something is done. */
export async function traced(browser: Browser, page: Page, act: () => Promise<void>): Promise<Work> {
  await browser.startTracing(page, {
    categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "v8"],
  });
  await act();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  return workIn(trace.traceEvents);
}

type TraceEvent = {
  name: string;
  ph: string;
  ts: number;
  dur?: number;
  tdur?: number;
  pid: number;
  tid: number;
  args?: { name?: string };
};

/** ms. */
type Work = { longest: number; p95: number };

/** Scripts, and layout with its styles, as Chromium's traces name them. */
const SCRIPT_OR_LAYOUT =
  /^(FunctionCall|EvaluateScript|FireAnimationFrame|TimerFire|RunMicrotasks|EventDispatch|WebSocketReceive|V8\.GC.*|MinorGC|MajorGC|UpdateLayoutTree|Layout|PrePaint)$/;

/** The page's main thread: its longest task, and what scripts and layout took in each frame's time. */
function workIn(events: TraceEvent[]): Work {
  const mains = events
    .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
    .map((main) => events.filter(({ ph, pid, tid }) => ph === "X" && pid === main.pid && tid === main.tid));
  // Chromium may keep a renderer ready for the next page: it does nothing.
  const whole = mains.toSorted((a, b) => b.length - a.length)[0] ?? [];
  // Processor time, where the trace has it: others share the machine.
  const tasks = whole.filter(({ name }) => /RunTask/.test(name)).map(({ dur = 0, tdur = dur }) => tdur / 1_000);
  const frames = new Map<number, number>();
  let reached = 0;
  for (const { ts, dur = 0, tdur = dur } of whole
    .filter(({ name }) => SCRIPT_OR_LAYOUT.test(name))
    .toSorted((a, b) => a.ts - b.ts)) {
    // An entry within another is counted there.
    if (ts < reached) continue;
    reached = ts + dur;
    const frame = Math.floor(ts / 1_000 / FRAME_MS);
    frames.set(frame, (frames.get(frame) ?? 0) + tdur / 1_000);
  }
  const [first, last] = [Math.min(...frames.keys()), Math.max(...frames.keys())];
  const work = Array.from({ length: last - first + 1 }, (_, index) => frames.get(first + index) ?? 0);
  return { longest: Math.max(...tasks), p95: work.toSorted((a, b) => a - b)[Math.floor(work.length * 0.95)]! };
}
