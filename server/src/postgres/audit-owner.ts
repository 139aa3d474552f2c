/**
 * The audit's owner in a cluster of our own, whom nobody signs in as: the program reads the audit and adds to it, and can
 * neither change, drop nor alter it, nor the schema that it is in (decision 0021). The table and the function that adds to it
 * are made by the first migration, which then calls `own_audit`.
 */
import fs from "node:fs";
import path from "node:path";
import { writeWhole } from "./write-whole.ts";

const OWNER = "autograph_audit";
const APPEND = "public.append_audit_event(uuid, uuid, timestamptz, text, uuid, text)";

const TAKEN = [
  `alter table public.audit_events owner to ${OWNER};`,
  `alter function ${APPEND} owner to ${OWNER};`,
  `alter function public.refuse_audit_change() owner to ${OWNER};`,
  "revoke all on table public.audit_events from public, autograph;",
  "grant select on table public.audit_events to autograph;",
  `revoke all on function ${APPEND} from public, autograph;`,
  `grant execute on function ${APPEND} to autograph;`,
].join(" ");

/** For the single-user mode as the superuser: a line is a statement. All of it may be repeated. */
export const OWNERS = `do $$ begin if to_regrole('${OWNER}') is null then create role ${OWNER} nologin; end if; end $$;
alter schema public owner to postgres; grant all on schema public to autograph;
create or replace function public.own_audit() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin ${TAKEN} end $$;
revoke all on function public.own_audit() from public; grant execute on function public.own_audit() to autograph;
`;

/** Says that the cluster has the owner. */
const markPath = (cluster: string): string => path.join(cluster, "autograph.owners");

export const hasOwners = (cluster: string): boolean => fs.existsSync(markPath(cluster));
export const markOwners = (cluster: string): void => writeWhole(markPath(cluster), "", 0o600);
