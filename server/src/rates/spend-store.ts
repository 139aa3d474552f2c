/** The SQL of what models use: spent by day, and reserved by calls that are under way. */
import type { AgentId, ModelConnectionId, OrganizationId, ProjectId, RunId } from "../lib/ids.ts";
import type { Database, Query, Row } from "../storage/database.ts";

/** The organization, a connection, or a run that no other run started. */
export type Subject = OrganizationId | ModelConnectionId | RunId;

/** `cost`: in the currency; 0 without a price. */
export type Amount = { tokens: number; cost: number };

/** `day`: UTC, YYYY-MM-DD. */
export type Place = { organizationId: OrganizationId; subject: Subject; day: string };

/** `currency`: empty without a price. */
export type Spent = Amount & Place & { currency: string };

export type Reservation = Amount & {
  organizationId: OrganizationId;
  id: string;
  day: string;
  connectionId: ModelConnectionId | null;
  /** The run that no other run started. */
  runId: RunId | null;
  /** Empty without a price. */
  currency: string;
  /** Tokens that it may use beyond its own while it is under way. They do not count if nobody knows what it used. */
  beyondTokens: number;
  /** ms. */
  expiresAt: number;
};

/** A call that no run made, as it is kept. */
export type SentenceCall = {
  organizationId: OrganizationId;
  id: string;
  agentId: AgentId | null;
  projectId: ProjectId | null;
  connectionId: ModelConnectionId | null;
  connection: string;
  model: string;
  calledAt: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  cost: number | null;
  currency: string | null;
};

/** A call that ended. `late`: what is added if its reservation was counted in full already; undefined: nothing is. */
export type EndedCall = {
  reservation: Pick<Reservation, "organizationId" | "id" | "currency">;
  places: readonly Place[];
  used: Amount;
  late: Amount | undefined;
  call: SentenceCall | undefined;
};

/**
 * Takes the accounts that no other transaction has, in any process, and ends these calls there. Returns the organizations whose accounts it
 * took; the transaction has them until it ends. Waits for no account, so no organization waits for another's. A process that stands still
 * in a transaction loses them after `idleMs`.
 */
export async function lockAndEnd(
  query: Query,
  organizations: readonly OrganizationId[],
  ended: readonly EndedCall[],
  idleMs: number,
): Promise<Set<OrganizationId>> {
  const calls = ended.flatMap(({ reservation, late, call }) => (call ? [{ call, reservation, late }] : []));
  const parts: Record<string, Part> = { ours: takeAccounts(organizations, idleMs) };
  if (ended.length > 0) Object.assign(parts, { gone: endReservations(ended), spent: addUsed(ended) });
  if (calls.length > 0) parts["calls"] = addCalls(calls);
  const rows = await query(...inOne(parts, `select organization_id from ours where is_ours`));
  return new Set(rows.map((row) => row["organization_id"] as OrganizationId));
}

/** A part of a statement. `given` takes a value, and returns its parameter. */
type Part = (given: (value: unknown) => string) => string;

/** One statement of several, each a name for the next ones: each alone would be a way to the database and back. */
function inOne(parts: Record<string, Part>, last: string): [text: string, values: unknown[]] {
  const values: unknown[] = [];
  const given = (value: unknown): string => `$${values.push(value)}`;
  const texts = Object.entries(parts).map(([name, part]) => `${name} as (${part(given)})`);
  return [`with ${texts.join(", ")} ${last}`, values];
}

/** A reservation is deleted only once its account is ours: another transaction may have deleted its row by then, which PostgreSQL sees. */
const takeAccounts =
  (organizations: readonly OrganizationId[], idleMs: number): Part =>
  (given) =>
    `select one as organization_id,
            set_config('idle_in_transaction_session_timeout', ${given(`${idleMs}ms`)}, true),
            pg_try_advisory_xact_lock(hashtextextended('models ' || one, 0)) as is_ours
       from unnest(${given(organizations)}::uuid[]) as one`;

const endReservations =
  (ended: readonly EndedCall[]): Part =>
  (given) =>
    `delete from model_reservations r using ours, unnest(
         ${given(ended.map(({ reservation }) => reservation.organizationId))}::uuid[],
         ${given(ended.map(({ reservation }) => reservation.id))}::uuid[]) as e (organization_id, id)
      where ours.is_ours and ours.organization_id = e.organization_id and r.organization_id = e.organization_id and r.id = e.id
      returning r.id`;

/** One row for each place, however many calls were there. */
const addUsed =
  (ended: readonly EndedCall[]): Part =>
  (given) => {
    const rows = ended.flatMap(({ places, ...one }) => places.map((place) => ({ ...one, place })));
    return `insert into model_spend as known (organization_id, subject, day, currency, tokens, cost)
      select p.organization_id, subject, day, currency,
             sum(case when gone.id is null then late_tokens else tokens end)::bigint as tokens,
             sum(case when gone.id is null then late_cost else cost end) as cost
        from unnest(
               ${given(rows.map(({ place }) => place.organizationId))}::uuid[],
               ${given(rows.map(({ reservation }) => reservation.id))}::uuid[],
               ${given(rows.map(({ place }) => place.subject))}::uuid[],
               ${given(rows.map(({ place }) => place.day))}::date[],
               ${given(rows.map(({ reservation }) => reservation.currency))}::text[],
               ${given(rows.map(({ used }) => used.tokens))}::bigint[],
               ${given(rows.map(({ used }) => used.cost.toFixed(DECIMALS)))}::numeric[],
               ${given(rows.map(({ late }) => late?.tokens ?? null))}::bigint[],
               ${given(rows.map(({ late }) => late?.cost.toFixed(DECIMALS) ?? null))}::numeric[])
             as p (organization_id, id, subject, day, currency, tokens, cost, late_tokens, late_cost)
        join ours on is_ours and ours.organization_id = p.organization_id
        left join gone on gone.id = p.id
       where gone.id is not null or late_tokens is not null
       group by 1, 2, 3, 4
      having sum(case when gone.id is null then late_tokens else tokens end) <> 0
          or sum(case when gone.id is null then late_cost else cost end) <> 0
      ${ADDED}`;
  };

const ADDED = `on conflict (organization_id, subject, day, currency) do update
       set tokens = known.tokens + excluded.tokens, cost = known.cost + excluded.cost`;

/** The amounts that were spent at these places, and all that the organizations have reserved. */
export async function readAccounts(
  query: Query,
  organizations: readonly OrganizationId[],
  places: readonly Place[],
): Promise<{ spent: Spent[]; reserved: Reservation[] }> {
  const rows = await query(
    `select s.organization_id, s.subject as id, to_char(s.day, 'YYYY-MM-DD') as day, s.currency, s.tokens, s.cost::float8 as cost,
            null::uuid as connection_id, null::uuid as run_id, null::bigint as beyond_tokens, null::timestamptz as expires_at
       from (select distinct * from unnest($1::uuid[], $2::uuid[], $3::date[])) as wanted (organization_id, subject, day)
       join model_spend s using (organization_id, subject, day)
     union all
     select organization_id, id, to_char(day, 'YYYY-MM-DD'), currency, tokens, cost::float8,
            connection_id, run_id, beyond_tokens, expires_at
       from model_reservations where organization_id = any($4::uuid[])`,
    [
      places.map(({ organizationId }) => organizationId),
      places.map(({ subject }) => subject),
      places.map(({ day }) => day),
      organizations,
    ],
  );
  return {
    spent: rows.filter(isSpent).map(spentOf),
    reserved: rows.filter((row) => !isSpent(row)).map(reservationOf),
  };
}

const isSpent = (row: Row): boolean => row["expires_at"] === null;

const spentOf = (row: Row): Spent => ({
  organizationId: row["organization_id"],
  subject: row["id"],
  day: row["day"],
  currency: row["currency"],
  tokens: row["tokens"],
  cost: row["cost"],
});

const reservationOf = (row: Row): Reservation => ({
  organizationId: row["organization_id"],
  id: row["id"],
  day: row["day"],
  connectionId: row["connection_id"],
  runId: row["run_id"],
  currency: row["currency"],
  tokens: row["tokens"],
  beyondTokens: row["beyond_tokens"],
  cost: row["cost"],
  expiresAt: row["expires_at"].getTime(),
});

/** The run that no other run started, above this one. */
export async function readRootRun(database: Database, organizationId: OrganizationId, id: RunId): Promise<RunId> {
  const rows = await database.query(
    `with recursive above (id, parent, height) as (
       select id, parent_run_id, 0 from runs where organization_id = $1 and id = $2
       union all
       select r.id, r.parent_run_id, height + 1 from above a join runs r on r.id = a.parent where r.organization_id = $1)
     select id from above order by height desc limit 1`,
    [organizationId, id],
    organizationId,
  );
  return rows[0]?.["id"] ?? id;
}

export type Changes = {
  /** Added to what was spent before; one for each row. */
  spent: readonly Spent[];
  reserved: readonly Reservation[];
  /** Reservations that have expired, by organization and id. */
  expired: readonly Pick<Reservation, "organizationId" | "id">[];
};

export async function writeSpending(query: Query, { spent, reserved, expired }: Changes): Promise<void> {
  const parts: Record<string, Part> = {};
  if (spent.length > 0) parts["added"] = addSpent(spent);
  if (expired.length > 0) parts["expired"] = deleteReservations(expired);
  if (reserved.length > 0) parts["reserved"] = addReservations(reserved);
  if (Object.keys(parts).length > 0) await query(...inOne(parts, "select 1"));
}

const addSpent =
  (spent: Changes["spent"]): Part =>
  (given) =>
    `insert into model_spend as known (organization_id, subject, day, currency, tokens, cost)
     select * from unnest(
       ${given(spent.map(({ organizationId }) => organizationId))}::uuid[],
       ${given(spent.map(({ subject }) => subject))}::uuid[],
       ${given(spent.map(({ day }) => day))}::date[],
       ${given(spent.map(({ currency }) => currency))}::text[],
       ${given(spent.map(({ tokens }) => tokens))}::bigint[],
       ${given(spent.map(({ cost }) => cost.toFixed(DECIMALS)))}::numeric[])
     ${ADDED}`;

const deleteReservations =
  (expired: Changes["expired"]): Part =>
  (given) =>
    `delete from model_reservations r using unnest(
         ${given(expired.map(({ organizationId }) => organizationId))}::uuid[],
         ${given(expired.map(({ id }) => id))}::uuid[]) as expired (organization_id, id)
      where r.organization_id = expired.organization_id and r.id = expired.id`;

const addReservations =
  (reserved: Changes["reserved"]): Part =>
  (given) =>
    `insert into model_reservations
       (organization_id, id, day, connection_id, run_id, currency, tokens, beyond_tokens, cost, expires_at)
     select * from unnest(
       ${given(reserved.map(({ organizationId }) => organizationId))}::uuid[],
       ${given(reserved.map(({ id }) => id))}::uuid[],
       ${given(reserved.map(({ day }) => day))}::date[],
       ${given(reserved.map(({ connectionId }) => connectionId))}::uuid[],
       ${given(reserved.map(({ runId }) => runId))}::uuid[],
       ${given(reserved.map(({ currency }) => currency))}::text[],
       ${given(reserved.map(({ tokens }) => tokens))}::bigint[],
       ${given(reserved.map(({ beyondTokens }) => beyondTokens))}::bigint[],
       ${given(reserved.map(({ cost }) => cost.toFixed(DECIMALS)))}::numeric[],
       ${given(reserved.map(({ expiresAt }) => new Date(expiresAt)))}::timestamptz[])`;

type CallOf = Pick<EndedCall, "reservation" | "late"> & { call: SentenceCall };

/** Adds the calls whose end counts: with their reservation, or late. */
const addCalls =
  (ended: readonly CallOf[]): Part =>
  (given) => {
    const calls = ended.map(({ call }) => call);
    return `insert into model_calls (organization_id, id, agent_id, project_id, connection_id, connection, model, called_at,
        input_tokens, output_tokens, cached_input_tokens, cost, currency)
      select c.organization_id, c.id, agent_id, project_id, connection_id, connection, model, called_at,
        input_tokens, output_tokens, cached_input_tokens, cost, currency
      from unnest(
        ${given(calls.map(({ organizationId }) => organizationId))}::uuid[],
        ${given(calls.map(({ id }) => id))}::uuid[],
        ${given(calls.map(({ agentId }) => agentId))}::uuid[],
        ${given(calls.map(({ projectId }) => projectId))}::uuid[],
        ${given(calls.map(({ connectionId }) => connectionId))}::uuid[],
        ${given(calls.map(({ connection }) => connection))}::text[],
        ${given(calls.map(({ model }) => model))}::text[],
        ${given(calls.map(({ calledAt }) => new Date(calledAt)))}::timestamptz[],
        ${given(calls.map(({ inputTokens }) => inputTokens))}::int[],
        ${given(calls.map(({ outputTokens }) => outputTokens))}::int[],
        ${given(calls.map(({ cachedInputTokens }) => cachedInputTokens))}::int[],
        ${given(calls.map(({ cost }) => (cost === null ? null : cost.toFixed(DECIMALS))))}::numeric[],
        ${given(calls.map(({ currency }) => currency))}::text[],
        ${given(ended.map(({ reservation }) => reservation.id))}::uuid[],
        ${given(ended.map(({ late }) => late !== undefined))}::bool[])
        as c (organization_id, id, agent_id, project_id, connection_id, connection, model, called_at,
          input_tokens, output_tokens, cached_input_tokens, cost, currency, reservation_id, is_late)
      join ours on is_ours and ours.organization_id = c.organization_id
      left join gone on gone.id = reservation_id
      where gone.id is not null or is_late
      on conflict do nothing`;
  };

/** The decimals of a cost, as those of `model_calls`. */
const DECIMALS = 12;
