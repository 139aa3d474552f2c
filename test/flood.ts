/** Many runs at once, and what they call: it answers nobody until the door is opened, then all of them at once. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Door = {
  url: string;
  /** How many have come. */
  calls(): number;
  open(): void;
} & AsyncDisposable;

export async function startDoor(): Promise<Door> {
  const waiting: ServerResponse[] = [];
  let isOpen = false;
  let calls = 0;
  const server = createServer((request, response) => {
    calls++;
    request.resume();
    if (isOpen) response.end();
    else waiting.push(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    open: () => {
      isOpen = true;
      for (const response of waiting) response.end();
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

type Client = { query(text: string, values?: unknown[]): Promise<unknown> };

/** So many copies of each run, or of each of these agents' (their ids in the database), as their starts would have left them when no place was free. */
export const multiplyRuns = (client: Client, copies: number, agentIds?: string[]): Promise<unknown> =>
  client.query(
    `with copies as (select r.*, row_number() over (order by r.id, copy) as nth from runs r, generate_series(1, $1) copy
        where $2::uuid[] is null or r.agent_id = any ($2))
     insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
       created_at, revision, progress, epoch, wake_at, wake_seq)
     select overlay(id::text placing lpad(to_hex(nth), 12, '0') from 25)::uuid, organization_id, project_id, agent_id,
       version, 'pending', started_by_kind, started_by_id, input, created_at, 1, 0, 0, 'epoch', 0
       from copies`,
    [copies, agentIds ?? null],
  );

/** So many copies of each run that is unloaded and waits for a time, with its steps: their waits end together. */
export const multiplyWaits = (client: Client, copies: number): Promise<unknown> =>
  client.query(
    `with copies as materialized (
       select r as run, overlay(r.id::text placing lpad(to_hex(row_number() over (order by r.id, copy)), 12, '0') from 25)::uuid as id
         from runs r, generate_series(1, $1) copy where r.owner is null and r.wake_at is not null),
     runs_made as (
       insert into runs select (jsonb_populate_record(run, jsonb_build_object('id', id))).* from copies)
     insert into steps select (jsonb_populate_record(s, jsonb_build_object('run_id', copies.id))).*
       from steps s join copies on s.run_id = (copies.run).id`,
    [copies],
  );
