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
  /** That no other run started. */
  runId: RunId | null;
  /** Empty: without a price. */
  currency: string;
  /** That it may use beyond its tokens while it is under way. They do not count if nobody knows what it used. */
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

/** A call that ended. `late`: what it used instead if its reservation was counted in full already; undefined: then nothing is added. */
export type EndedCall = {
  reservation: Pick<Reservation, "organizationId" | "id" | "currency">;
  places: readonly Place[];
  used: Amount;
  late: Amount | undefined;
  call: SentenceCall | undefined;
};

/**
 * Ends these calls, and has the accounts of those organizations whose account no other transaction has, in any process: returns them. This
 * transaction has them until it ends. Waits for none, so no organization waits for another's. A process that stands still in a transaction
 * loses them after `idleMs`.
 */
export async function lockAndEnd(
  query: Query,
  organizations: readonly OrganizationId[],
  ended: readonly EndedCall[],
  idleMs: number,
): Promise<Set<OrganizationId>> {
  const lock = { text: OURS, values: [organizations, `${idleMs}ms`] };
  const calls = ended.flatMap(({ reservation, late, call }) => (call ? [{ call, reservation, late }] : []));
  const parts: Record<string, Statement> = { ours: lock };
  if (ended.length > 0) Object.assign(parts, { gone: endReservations(ended), spent: addUsed(ended) });
  if (calls.length > 0) parts["calls"] = addCalls(calls);
  const rows = await query(...inOne(parts, `select organization_id from ours where is_ours`));
  return new Set(rows.map((row) => row["organization_id"] as OrganizationId));
}

/** A reservation is deleted only once the account is ours: its row may be gone by then, which PostgreSQL then sees. */
const OURS = `select one as organization_id, set_config('idle_in_transaction_session_timeout', $2, true),
    pg_try_advisory_xact_lock(hashtextextended('models ' || one, 0)) as is_ours
  from unnest($1::uuid[]) as one`;

const endReservations = (ended: readonly EndedCall[]): Statement => ({
  text: `delete from model_reservations r using ours, unnest($1::uuid[], $2::uuid[]) as e (organization_id, id)
    where ours.is_ours and ours.organization_id = e.organization_id and r.organization_id = e.organization_id and r.id = e.id
    returning r.id`,
  values: [ended.map(({ reservation }) => reservation.organizationId), ended.map(({ reservation }) => reservation.id)],
});

/** One row for each place, however many calls were there. */
function addUsed(ended: readonly EndedCall[]): Statement {
  const rows = ended.flatMap(({ places, ...one }) => places.map((place) => ({ ...one, place })));
  return {
    text: `insert into model_spend as known (organization_id, subject, day, currency, tokens, cost)
      select p.organization_id, subject, day, currency,
             sum(case when gone.id is null then late_tokens else tokens end)::bigint as tokens,
             sum(case when gone.id is null then late_cost else cost end) as cost
        from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::date[], $5::text[], $6::bigint[], $7::numeric[], $8::bigint[], $9::numeric[])
             as p (organization_id, id, subject, day, currency, tokens, cost, late_tokens, late_cost)
        join ours on is_ours and ours.organization_id = p.organization_id
        left join gone on gone.id = p.id
       where gone.id is not null or late_tokens is not null
       group by 1, 2, 3, 4
      having sum(case when gone.id is null then late_tokens else tokens end) <> 0
          or sum(case when gone.id is null then late_cost else cost end) <> 0
      ${ADDED}`,
    values: [
      rows.map(({ place }) => place.organizationId),
      rows.map(({ reservation }) => reservation.id),
      rows.map(({ place }) => place.subject),
      rows.map(({ place }) => place.day),
      rows.map(({ reservation }) => reservation.currency),
      rows.map(({ used }) => used.tokens),
      rows.map(({ used }) => used.cost.toFixed(DECIMALS)),
      rows.map(({ late }) => late?.tokens ?? null),
      rows.map(({ late }) => late?.cost.toFixed(DECIMALS) ?? null),
    ],
  };
}

const ADDED = `on conflict (organization_id, subject, day, currency) do update
       set tokens = known.tokens + excluded.tokens, cost = known.cost + excluded.cost`;

/** A statement whose parameters are numbered from 1. */
type Statement = { text: string; values: unknown[] };

/** One statement of several, each a name for the next ones: each alone would be a way to the database and back. */
function inOne(parts: Record<string, Statement>, last: string): [text: string, values: unknown[]] {
  const values: unknown[] = [];
  const texts = Object.entries(parts).map(([name, part]) => {
    const text = part.text.replaceAll(/\$(\d+)/g, (_, number) => `$${values.length + Number(number)}`);
    values.push(...part.values);
    return `${name} as (${text})`;
  });
  return [`with ${texts.join(", ")} ${last}`, values];
}

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

/** The run above all that led to this one. */
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
  const parts: Record<string, Statement> = {};
  if (spent.length > 0) parts["added"] = addSpent(spent);
  if (expired.length > 0) parts["expired"] = deleteReservations(expired);
  if (reserved.length > 0) parts["reserved"] = addReservations(reserved);
  if (Object.keys(parts).length > 0) await query(...inOne(parts, "select 1"));
}

const addSpent = (spent: Changes["spent"]): Statement => ({
  text: `insert into model_spend as known (organization_id, subject, day, currency, tokens, cost)
   select * from unnest($1::uuid[], $2::uuid[], $3::date[], $4::text[], $5::bigint[], $6::numeric[])
   ${ADDED}`,
  values: [
    spent.map(({ organizationId }) => organizationId),
    spent.map(({ subject }) => subject),
    spent.map(({ day }) => day),
    spent.map(({ currency }) => currency),
    spent.map(({ tokens }) => tokens),
    spent.map(({ cost }) => cost.toFixed(DECIMALS)),
  ],
});

const deleteReservations = (expired: Changes["expired"]): Statement => ({
  text: `delete from model_reservations r using unnest($1::uuid[], $2::uuid[]) as expired (organization_id, id)
    where r.organization_id = expired.organization_id and r.id = expired.id`,
  values: [expired.map(({ organizationId }) => organizationId), expired.map(({ id }) => id)],
});

const addReservations = (reserved: Changes["reserved"]): Statement => ({
  text: `insert into model_reservations (organization_id, id, day, connection_id, run_id, currency, tokens, beyond_tokens, cost, expires_at)
   select * from unnest($1::uuid[], $2::uuid[], $3::date[], $4::uuid[], $5::uuid[], $6::text[], $7::bigint[], $8::bigint[],
     $9::numeric[], $10::timestamptz[])`,
  values: [
    reserved.map(({ organizationId }) => organizationId),
    reserved.map(({ id }) => id),
    reserved.map(({ day }) => day),
    reserved.map(({ connectionId }) => connectionId),
    reserved.map(({ runId }) => runId),
    reserved.map(({ currency }) => currency),
    reserved.map(({ tokens }) => tokens),
    reserved.map(({ beyondTokens }) => beyondTokens),
    reserved.map(({ cost }) => cost.toFixed(DECIMALS)),
    reserved.map(({ expiresAt }) => new Date(expiresAt)),
  ],
});

type CallOf = Pick<EndedCall, "reservation" | "late"> & { call: SentenceCall };

/** Those whose end counts. */
const addCalls = (ended: readonly CallOf[]): Statement => {
  const calls = ended.map(({ call }) => call);
  return {
    text: `insert into model_calls (organization_id, id, agent_id, project_id, connection_id, connection, model, called_at,
     input_tokens, output_tokens, cached_input_tokens, cost, currency)
   select c.organization_id, c.id, agent_id, project_id, connection_id, connection, model, called_at,
     input_tokens, output_tokens, cached_input_tokens, cost, currency
   from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::timestamptz[],
     $9::int[], $10::int[], $11::int[], $12::numeric[], $13::text[], $14::uuid[], $15::bool[])
     as c (organization_id, id, agent_id, project_id, connection_id, connection, model, called_at,
       input_tokens, output_tokens, cached_input_tokens, cost, currency, reservation_id, is_late)
   join ours on is_ours and ours.organization_id = c.organization_id
   left join gone on gone.id = reservation_id
   where gone.id is not null or is_late
   on conflict do nothing`,
    values: [
      calls.map(({ organizationId }) => organizationId),
      calls.map(({ id }) => id),
      calls.map(({ agentId }) => agentId),
      calls.map(({ projectId }) => projectId),
      calls.map(({ connectionId }) => connectionId),
      calls.map(({ connection }) => connection),
      calls.map(({ model }) => model),
      calls.map(({ calledAt }) => new Date(calledAt)),
      calls.map(({ inputTokens }) => inputTokens),
      calls.map(({ outputTokens }) => outputTokens),
      calls.map(({ cachedInputTokens }) => cachedInputTokens),
      calls.map(({ cost }) => (cost === null ? null : cost.toFixed(DECIMALS))),
      calls.map(({ currency }) => currency),
      ended.map(({ reservation }) => reservation.id),
      ended.map(({ late }) => late !== undefined),
    ],
  };
};

/** The decimals of a cost, as those of `model_calls`. */
const DECIMALS = 12;
