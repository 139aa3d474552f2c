import { encodeId, type Id, type Kind } from "../ids.ts";

/** The kinds of ids in a line's fields. */
const KINDS = new Map<string, Kind>(
  Object.entries({
    run: "run",
    runId: "run",
    runs: "run",
    agent: "agent",
    user: "user",
    session: "session",
    organizationId: "organization",
    projectId: "project",
  }),
);
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** The same fields with ids as the API writes them (`run_…`), so that who has a line finds the object, and the other way round. */
export function withApiIds<Fields extends object>(fields: Fields): Fields {
  const shown = { ...fields } as Record<string, unknown>;
  for (const [name, value] of Object.entries(shown)) {
    const kind = KINDS.get(name);
    if (kind) shown[name] = Array.isArray(value) ? value.map((one) => shownId(kind, one)) : shownId(kind, value);
  }
  return shown as Fields;
}

const shownId = (kind: Kind, value: unknown): unknown =>
  typeof value === "string" && UUID.test(value) ? encodeId(kind, value as Id<Kind>) : value;
