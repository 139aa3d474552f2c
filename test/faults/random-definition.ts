/** A definition nobody would write: tasks of every kind in each other, by chance. It always ends, if somebody decides. */
import type { Random } from "./random.ts";

type Task = Record<string, unknown>;

const DEEPEST = 3;
const NOT_FOUND = { type: "https://example.org/errors/chance", status: 404, title: "Chance" };

/** `sink`: its URL. `child`: the handle of an agent of the project `test`. */
export function randomDefinition(random: Random, sink: string, child: string): object {
  let names = 0;
  const name = (kind: string): string => `${kind}${++names}`;
  const ms = (from: number, to: number): object => ({ milliseconds: random.between(from, to) });
  const expression = (): string =>
    random.pick(["${ . }", "${ {n: 1} }", "${ $runtime.now.epoch.seconds }", "${ [1, 2] }"]);

  const call = (): Task => ({
    call: "http",
    with: {
      method: "post",
      endpoint: `${sink}${random.pick(["/delay/1", "/delay/20", "/delay/20", "/refuse/1", "/delay/5/drop/1"])}`,
      query: { run: "${ $workflow.id }", step: name("post") },
    },
  });
  const retried = (task: Task): Task => ({
    try: [{ [name("tried")]: task }],
    catch: {
      retry: { delay: ms(1, 30), limit: { attempt: { count: random.between(1, 3) } } },
      ...(random.next() < 0.8 && { do: list(DEEPEST) }),
    },
  });
  const kinds: ((depth: number) => Task)[] = [
    () => ({ set: expression() }),
    () => ({ set: { list: "${ [range(3)] }", deep: { value: "${ . }" } }, export: { as: "${ $output }" } }),
    // Longer than a second: the run is unloaded.
    (depth) => ({ wait: depth === 1 ? ms(1_000, 1_500) : ms(1, 60) }),
    () => ({ wait: ms(1, 60) }),
    call,
    () => retried(call()),
    () => retried({ raise: { error: NOT_FOUND } }),
    () => ({ if: "${ $runtime.now.epoch.milliseconds % 2 == 0 }", set: { even: true } }),
    () => ({ if: "${ $runtime.now.epoch.milliseconds % 8 == 0 }", raise: { error: NOT_FOUND } }),
    () => ({
      switch: [{ odd: { when: "${ $runtime.now.epoch.milliseconds % 2 == 1 }", then: random.pick(["exit", "end"]) } }],
    }),
    () => ({
      call: "approval:1.0.0@default",
      with: { question: "Chance?", onReject: "continue", ...(random.next() < 0.3 && { timeout: ms(20, 2_000) }) },
    }),
    () => ({
      run: {
        workflow: { namespace: "test", name: child, version: "1.0.0", input: { n: 1 } },
        await: random.next() < 0.7,
      },
    }),
    (depth) => ({ do: list(depth), ...(random.next() < 0.3 && { timeout: { after: ms(10, 500) } }) }),
    (depth) => ({ for: { in: `\${ [range(${random.between(0, 3)})] }` }, do: list(depth) }),
    (depth) => ({
      fork: {
        compete: random.next() < 0.4,
        branches: Array.from({ length: random.between(2, 4) }, () => ({ [name("branch")]: task(depth) })),
      },
    }),
    (depth) => ({
      call: "each:1.0.0@default",
      with: {
        in: "${ [1, 2, 3, 4, 5] }",
        concurrency: random.between(1, 5),
        onError: random.pick(["stop", "collect"]),
        do: list(depth),
      },
    }),
    (depth) => retried({ do: list(depth) }),
  ];
  const SIMPLE = 12;
  /** Those without tasks inside them when it is deep enough. */
  const task = (depth: number): Task =>
    kinds[random.between(0, (depth < DEEPEST ? kinds.length : SIMPLE) - 1)]!(depth + 1);
  const list = (depth: number): Task[] =>
    Array.from({ length: random.between(1, 3) }, () => ({ [name("task")]: task(depth) }));
  return { do: list(0) };
}
