/** Payloads too large to come with their rows: read on demand, as text, many in one statement. */
import { JsonText } from "../../lib/json/json-text.ts";
import type { ApprovalId, OrganizationId, RunId } from "../../lib/ids.ts";
import { partitionOf } from "../../storage/partitions.ts";
import type { Runs } from "../handle/runs.ts";

/** Which payload. `number` is a step's, `attempt` one of its earlier tries. */
export type PayloadKey =
  | { of: "run"; id: RunId; column: "input" | "output" | "error" }
  | { of: "step"; id: RunId; number: number; column: "input" | "output" | "error" | "caught" | "response" | "log" }
  | { of: "attempt"; id: RunId; number: number; attempt: number; column: "error" | "response" }
  | { of: "approval"; id: ApprovalId; column: "context" | "form" | "answer" };

const TABLES = {
  run: { table: "runs", key: ["id"], isPartitioned: true },
  step: { table: "steps", key: ["run_id", "number"], isPartitioned: true },
  attempt: { table: "attempts", key: ["run_id", "number", "attempt"], isPartitioned: true },
  approval: { table: "approvals", key: ["id"], isPartitioned: false },
} as const;
const TYPES = ["uuid", "integer", "integer"];

/** The payloads that have no column of their own. */
const EXPRESSIONS: Partial<Record<PayloadKey["column"], string>> = {
  caught: "(p.state -> 'caught')",
  log: "(p.state -> 'log')",
};

/** In the order of the keys; undefined for a payload that is gone. */
export async function readPayloads(
  runs: Pick<Runs, "database">,
  organizationId: OrganizationId,
  keys: readonly PayloadKey[],
): Promise<(JsonText | undefined)[]> {
  const found = await readTexts(runs, organizationId, keys);
  return keys.map((key) => {
    const text = found.get(key);
    return text === undefined ? undefined : JsonText.ofText(text);
  });
}

/** Characters of a beginning. */
export const BEGINNING = 2_000;

/** The first `BEGINNING` characters of each, in the order of the keys: PostgreSQL reads no more of it. */
export async function readBeginnings(
  runs: Pick<Runs, "database">,
  organizationId: OrganizationId,
  keys: readonly PayloadKey[],
): Promise<(string | undefined)[]> {
  const found = await readTexts(runs, organizationId, keys, BEGINNING);
  return keys.map((key) => found.get(key));
}

async function readTexts(
  runs: Pick<Runs, "database">,
  organizationId: OrganizationId,
  keys: readonly PayloadKey[],
  most?: number,
): Promise<Map<PayloadKey, string>> {
  const found = new Map<PayloadKey, string>();
  const statements = Map.groupBy(keys, (key) => `${key.of} ${key.column} ${monthOf(runs, key)}`);
  for (const group of statements.values()) {
    const texts = await readGroup(runs, organizationId, group, most);
    for (const [index, text] of texts) found.set(group[index]!, text);
  }
  return found;
}

const monthOf = ({ database }: Pick<Runs, "database">, key: PayloadKey): string =>
  TABLES[key.of].isPartitioned ? `_${partitionOf(database, key.id as RunId)}` : "";

/** Reads one column of one table. `most`: characters of its beginning. */
async function readGroup(
  runs: Pick<Runs, "database">,
  organizationId: OrganizationId,
  keys: PayloadKey[],
  most: number | undefined,
): Promise<[index: number, text: string][]> {
  const { of, column } = keys[0]!;
  const { table, key: columns } = TABLES[of];
  const month = monthOf(runs, keys[0]!);
  const arrays = columns.map((_, index) => `$${index + 2}::${TYPES[index]}[]`).join(", ");
  const joined = columns.map((name) => `p.${name} = wanted.${name}`).join(" and ");
  const whole = `${EXPRESSIONS[column] ?? `p.${column}`}::text`;
  const rows = await runs.database.hot(
    `payload_${table}${month}_${column}${most === undefined ? "" : "_beginning"}`,
    `select wanted.place::integer as place, ${most === undefined ? whole : `left(${whole}, ${most})`} as text
       from unnest(${arrays}) with ordinality as wanted (${columns.join(", ")}, place)
       join ${table}${month} p on p.organization_id = $1 and ${joined}`,
    [organizationId, ...columns.map((_, index) => keys.map((key) => partsOf(key)[index]))],
    organizationId,
  );
  return rows.flatMap((row) => (row["text"] === null ? [] : [[row["place"] - 1, row["text"]]]));
}

function partsOf(key: PayloadKey): unknown[] {
  if (key.of === "step") return [key.id, key.number];
  if (key.of === "attempt") return [key.id, key.number, key.attempt];
  return [key.id];
}
