/**
 * Every limit except those of plans (`rates/plans.ts`). A limit is a line in one of the tables in `limits/`: its value, what it bounds, what
 * happens beyond it, and the test that holds it at its edge. `npm run schema` prints docs/limits.md from them. They apply to everybody; what an
 * operator can set is in docs/configuration.md.
 */
import { AUTH } from "./limits/auth.ts";
import { DEFINITION } from "./limits/definition.ts";
import { DRAFTS } from "./limits/drafts.ts";
import { EVENTS } from "./limits/events.ts";
import { EXECUTION } from "./limits/execution.ts";
import { GRAPHQL } from "./limits/graphql.ts";
import { HTTP } from "./limits/http.ts";
import { MAIL } from "./limits/mail.ts";
import { MCP_LIMITS } from "./limits/mcp.ts";
import { MODELS } from "./limits/models.ts";
import { OPENAPI_LIMITS } from "./limits/openapi.ts";
import { ORGANIZATION } from "./limits/organization.ts";
import { OUTBOUND } from "./limits/outbound.ts";
import { PROCESS } from "./limits/process.ts";
import { SCRIPTS } from "./limits/scripts.ts";
import { TRIGGERS } from "./limits/triggers.ts";
import type { Limit } from "./limits/limit.ts";

/** In the order of docs/limits.md, with the headings there. */
export const TABLES = [
  { heading: "Requests and connections", limits: HTTP },
  { heading: "GraphQL", limits: GRAPHQL },
  { heading: "Model Context Protocol", limits: MCP_LIMITS },
  { heading: "Definitions and expressions", limits: DEFINITION },
  { heading: "Scripts", limits: SCRIPTS },
  { heading: "Runs", limits: EXECUTION },
  { heading: "Sign-in, sessions and credentials", limits: AUTH },
  { heading: "What an organization has", limits: ORGANIZATION },
  { heading: "Triggers, webhooks and schedules", limits: TRIGGERS },
  { heading: "Events", limits: EVENTS },
  { heading: "Run drafts and the language model", limits: DRAFTS },
  { heading: "Models that agents ask", limits: MODELS },
  { heading: "Calls to other servers", limits: OUTBOUND },
  { heading: "Mail", limits: MAIL },
  { heading: "OpenAPI documents", limits: OPENAPI_LIMITS },
  { heading: "The process", limits: PROCESS },
] as const satisfies readonly { heading: string; limits: Record<string, Limit> }[];

/** The keys of each table, not those that all tables have. */
type KeyOf<Table> = Table extends unknown ? keyof Table : never;
export type LimitName = KeyOf<(typeof TABLES)[number]["limits"]>;

/** Plain numbers, so that to compare with a limit costs what it costs to read a property. */
export const LIMITS = Object.fromEntries(
  TABLES.flatMap(({ limits }) => Object.entries<Limit>(limits).map(([name, { value }]) => [name, value])),
) as Readonly<Record<LimitName, number>>;
