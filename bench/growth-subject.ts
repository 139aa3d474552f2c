/** Shared by the cases of growth.ts: how an agent, a run and a wait are asked for, and the tasks that they are made of. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Subject } from "./growth.ts";
import { graphql } from "./world.ts";

export type Data = Record<string, any>;
export type Task = Record<string, unknown>;

export const ask = ({ server, world }: Subject, query: string, variables: object = {}): Promise<Data> =>
  graphql<Data>(server, world, query, variables);

const names = new Map<Subject["world"], { count: number; handle: string }>();

/** A text of at most 256 kB, as JSON, which is YAML. */
export async function documentOf(subject: Subject, tasks: Task[], more: object = {}): Promise<string> {
  const { world } = subject;
  let known = names.get(world);
  if (!known) {
    const { project } = await ask(subject, "query ($id: ID!) { project(id: $id) { handle } }", { id: world.projectId });
    names.set(world, (known = { count: 0, handle: project.handle }));
  }
  const document = { dsl: "1.0.3", namespace: known.handle, name: `growth-${++known.count}`, version: "1.0.0" };
  return JSON.stringify({ document, ...more, do: tasks });
}

export async function publish(subject: Subject, tasks: Task[], more: object = {}): Promise<string> {
  const definition = await documentOf(subject, tasks, more);
  const input = { projectId: subject.world.projectId, definition };
  const { publishAgent } = await ask(
    subject,
    "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
    { input },
  );
  return publishAgent.id;
}

export async function start(subject: Subject, agentId: string, input: object = {}, more: object = {}): Promise<string> {
  const query = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  const { runAgent } = await ask(subject, query, { input: { agentId, input, ...more } });
  return runAgent.id;
}

const POLL_MS = 100;

/** Until it has ended, or has so many steps. */
export async function until(subject: Subject, id: string, steps = Infinity): Promise<void> {
  const query =
    "query ($id: ID!) { run(id: $id) { status currentStep error { detail } steps(first: 1, after: 9) { number } } }";
  for (;;) {
    const { run } = await ask(subject, query.replace("after: 9", `after: ${Math.min(steps, 1_000_000) - 1}`), { id });
    if (run.status === "failed") throw new Error(run.error.detail);
    if (run.status === "completed" || run.status === "cancelled" || run.steps.length > 0) return;
    await sleep(POLL_MS);
  }
}

export const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
export const tasks = (count: number, make: (index: number) => object): Task[] =>
  numbers(count).map((index) => ({ [`t${index}`]: make(index) }));
export const named = (name: string, task: object): Task => ({ [name]: task });
export const loop = (inner: Task[]): Task => named("loop", { for: { in: "${ .items }" }, do: inner });
export const each = (inner: Task[], more: object = {}, list = "${ .items }"): Task =>
  named("each", { call: "each:1.0.0@default", with: { in: list, concurrency: 100, do: inner, ...more } });
export const set = (value: unknown = 1): object => ({ set: { value } });
export const items = (count: number): object => ({ items: numbers(count) });

export const hour = { wait: { hours: 1 } };

/** `size` open steps: lists of lists of branches, all of which wait. */
export const open = (size: number): { tasks: Task[]; input: object } => {
  const outer = Math.ceil(Math.sqrt(size));
  const inner = each([named("nap", hour)], {}, "${ $input.inner }");
  return {
    tasks: [
      named("outer", {
        call: "each:1.0.0@default",
        with: {
          in: "${ .items }",
          concurrency: 100,
          do: [{ inner: { input: { from: { inner: "${ . }" } }, ...(inner["each"] as object) } }],
        },
      }),
    ],
    input: { items: numbers(outer).map(() => numbers(Math.floor(size / outer))) },
  };
};

/** All values of a subscription over Server-Sent Events, until it completes. */
export async function events(
  { server, world }: Subject,
  query: string,
  variables: object,
  most = Infinity,
): Promise<number> {
  const response = await fetch(`${server.url}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream",
      authorization: `Bearer ${world.apiKey}`,
    },
    body: JSON.stringify({ query, variables }),
  });
  let count = 0;
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    count += chunk.split("event: next").length - 1;
    if (count >= most) break;
  }
  return count;
}
