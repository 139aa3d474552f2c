/** Scripts: how many a second one organization runs, in a loop and one a run, beside the same with an expression; and the memory that they take. */
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder } from "./launch.ts";
import type { Generator } from "./load.ts";
import { interleaved, type Rounds, type Target } from "./measure.ts";
import { memoryOf } from "./processes.ts";
import type { Measured } from "./speed.ts";
import { makeWorld, projectOf, publish, runAgentToEnd } from "./world.ts";

const FULL = { rounds: 3, ms: 5_000, warmUpMs: 6_000 };
const QUICK = { rounds: 1, ms: 2_000, warmUpMs: 1_000 };
const TOGETHER = 16;
/** Scripts of a run that has a loop of them. */
const LOOP = 100;
const AIM = { least: 1_000 };

/** Five lines. */
const CODE = `let total = 0;
for (const line of order.lines) total += line.quantity * line.price;
const tax = Math.round(total * 19) / 100;
console.log("total", total);
return { id: order.id.toUpperCase(), total, tax };`;
const ORDER = { id: "a1", lines: [2, 1, 5].map((quantity) => ({ quantity, price: 10 })) };

const SCRIPT = { run: { script: { language: "js", arguments: { order: ORDER }, code: CODE } } };
const EXPRESSION = { set: { total: "${ [1, 2, 5] | map(. * 10) | add }" } };

export async function measureScript(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  const world = await makeWorld(server, sinkUrl);
  const project = await projectOf(server, world);
  const agent = async (name: string, tasks: object[]): Promise<Target> => ({
    request: runAgentToEnd(server, world, await publish(server, world, project, name, tasks)),
    roots: server.roots,
  });
  const loopOf = (task: object): object[] => [
    { loop: { for: { in: `\${ [range(${LOOP})] }` }, do: [{ one: task }] } },
    { over: { set: { done: true } } },
  ];
  const before = memoryOf(server.roots());
  const pairs = {
    [`a loop of ${LOOP}`]: {
      ours: await agent("scripts", loopOf(SCRIPT)),
      floor: await agent("expressions", loopOf(EXPRESSION)),
    },
    "one a run": {
      ours: await agent("script", [{ one: SCRIPT }]),
      floor: await agent("expression", [{ one: EXPRESSION }]),
    },
  };
  const figures: Figure[] = [];
  const details: Record<string, Rounds<"ours" | "floor">> = {};
  for (const [name, targets] of Object.entries(pairs)) {
    for (const { request } of Object.values(targets))
      await generator.run({ ...request, connections: TOGETHER, ms: effort.warmUpMs });
    const { median } = (details[name] = await interleaved(generator, targets, { connections: TOGETHER, ...effort }));
    const each = name === "one a run" ? 1 : LOOP;
    const at = `scripts, ${name}, ${TOGETHER} runs at once`;
    figures.push(
      { figure: `${at}: scripts a second`, unit: "/s", ours: median.ours.rate * each, ...(each > 1 && { aim: AIM }) },
      { figure: `${at}: CPU of Node a script`, unit: "ms", ours: median.ours.nodeMs / each },
      { figure: `${at}: p50 of a run, against set`, unit: "ms", ours: median.ours.p50Ms, floor: median.floor.p50Ms },
    );
  }
  const after = memoryOf(server.roots());
  figures.push({ figure: "memory of Node after these scripts", unit: "MB", ours: after.node, floor: before.node });
  return { figures, details: { script: { ...details, memory: { before, after } } } };
}
