/**
 * Whether the time of a webhook's 404 tells what was wrong. One connection sends all sorts of wrong calls in turns, in another order
 * each round. Each sort is compared with a token that never was: a share of 0.5 of its calls that take longer tells nothing.
 */
import { randomBytes } from "node:crypto";
import type { Figure } from "./figures.ts";
import type { Server } from "./launch.ts";
import { Connection, requestText } from "./load.ts";
import { connectTo } from "./postgres.ts";
import type { Measured } from "./speed.ts";
import { graphql, makeWorld, type World } from "./world.ts";

const NEVER = "a token that never was";
/** The share may differ from a half by this much. */
const TELLING = 0.03;
const WARM_UP = 300;

type Hook = { id: string; url: string };

async function webhookOf(server: Server, world: World, name: string): Promise<Hook> {
  const input = { agentId: world.agents.three, name, trigger: { type: "webhook" } };
  const create = "mutation ($input: CreateTriggerInput!) { createTrigger(input: $input) { id url } }";
  return (await graphql<{ createTrigger: Hook }>(server, world, create, { input })).createTrigger;
}

/** URLs that answer 404, by what is wrong. */
async function wrongUrls(server: Server, sinkUrl: string): Promise<Record<string, string>> {
  const world = await makeWorld(server, sinkUrl);
  const other = await makeWorld(server, sinkUrl);
  const [good, rotated, expired, deleted] = (await Promise.all(
    ["good", "rotated", "expired", "deleted"].map((name) => webhookOf(server, world, name)),
  )) as [Hook, Hook, Hook, Hook];
  const rotate = "mutation ($input: RotateWebhookTokenInput!) { rotateWebhookToken(input: $input) { id } }";
  await graphql(server, world, rotate, { input: { triggerId: rotated.id, overlapMinutes: 0 } });
  await graphql(server, world, rotate, { input: { triggerId: expired.id, overlapMinutes: 1 } });
  await graphql(server, world, "mutation ($input: DeleteTriggerInput!) { deleteTrigger(input: $input) { id } }", {
    input: { triggerId: deleted.id },
  });
  await using postgres = await connectTo(server);
  await postgres.query(
    "update webhook_tokens set expires_at = now() - interval '1 minute' where expires_at is not null",
  );
  const token = good.url.split("/").at(-1)!;
  return {
    [NEVER]: good.url.replace(token, randomBytes(32).toString("base64url")),
    "a good token at another agent": good.url.replace(world.agents.three, world.agents.slow),
    "a good token at another organization's agent": good.url.replace(world.agents.three, other.agents.three),
    "a token that was rotated": rotated.url,
    "one whose time after the rotation is over": expired.url,
    "a deleted trigger's token": deleted.url,
  };
}

export async function measureUnknown(server: Server, sinkUrl: string, rounds: number): Promise<Measured> {
  const urls = Object.entries(await wrongUrls(server, sinkUrl));
  const calls = urls.map(([sort, url]) => ({
    sort,
    text: requestText({ headers: {}, body: "{}" }, new URL(url)),
    us: [] as number[],
  }));
  const connection = await Connection.open(new URL(server.url));
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const { text, us } of shuffled(calls)) {
      const since = performance.now();
      const answer = await connection.send(text);
      const took = (performance.now() - since) * 1_000;
      if (!answer.startsWith("HTTP/1.1 404")) throw new Error(answer);
      if (round >= 0) us.push(took);
    }
  }
  connection.close();
  const [never, ...others] = calls.map(({ sort, us }) => ({ sort, us: us.toSorted((a, b) => a - b) }));
  const compared = others.map(({ sort, us }) => ({ sort, ...summaryOf(us), share: shareAbove(us, never!.us) }));
  const least = summaryOf(never!.us);
  const figures: Figure[] = [
    { figure: `404 for ${NEVER}: p50`, unit: "µs", ours: least.p50 },
    { figure: `404 for ${NEVER}: p90`, unit: "µs", ours: least.p90 },
    ...compared.flatMap(({ sort, p50, p90, share }): Figure[] => [
      { figure: `404 for ${sort}: p50`, unit: "µs", ours: p50, floor: least.p50 },
      { figure: `404 for ${sort}: p90`, unit: "µs", ours: p90, floor: least.p90 },
      { figure: `404 for ${sort}: takes longer than ${NEVER}, share`, unit: "", ours: share },
    ]),
    {
      figure: "the share that is farthest from a half: by",
      unit: "",
      ours: Math.max(...compared.map(({ share }) => Math.abs(share - 0.5))),
      aim: { most: TELLING },
    },
  ];
  return { figures, details: { unknown: { [NEVER]: least, compared, rounds } } };
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(Math.random() * left.length), 1)[0]!);
}

const summaryOf = (sorted: number[]): { p50: number; p90: number } => ({
  p50: sorted[sorted.length >> 1]!,
  p90: sorted[Math.floor(sorted.length * 0.9)]!,
});

/** How many pairs of one and another have the one longer, of all pairs: the statistic of Mann and Whitney. Both are sorted. */
function shareAbove(one: number[], other: number[]): number {
  let [below, same, sum] = [0, 0, 0];
  for (const value of one) {
    while (below < other.length && other[below]! < value) below++;
    for (same = below; same < other.length && other[same] === value;) same++;
    sum += below + (same - below) / 2;
  }
  return sum / (one.length * other.length);
}
