/** The audit: who did what from where. */
import type { AuditAction } from "../../audit/event.ts";
import { listAuditEvents, readAuditEvent, type AuditEvent, type AuditFilter } from "../../audit/read-events.ts";
import { decodeId, type ApiKeyId, type UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { idOf, listOf, requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, pageArguments, PAGED } from "../builder/connection.ts";
import { callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";
import type { List } from "../builder/objects.ts";

export function addAudit(builder: Builder, enums: Enums): void {
  addSubject(builder, enums);
  addEvent(builder, enums);
  addConnection(builder, "AuditEvent");
  addQuery(builder, enums);
}

function addSubject(builder: Builder, enums: Enums): void {
  builder.objectType("AuditSubject", {
    description: "What something was done to.",
    fields: (t) => ({
      kind: t.expose("kind", { scope: "inherited", type: enums.AuditSubjectKind, description: "What it is." }),
      id: t.exposeID("id", { scope: "inherited", description: "Its id, even after it was removed." }),
      name: t.exposeString("name", {
        scope: "inherited",
        nullable: true,
        description:
          "Its name at that time; for an invitation, its e-mail address. Null for people, sessions and approvals.",
      }),
    }),
  });
}

function addEvent(builder: Builder, enums: Enums): void {
  builder.objectType("AuditEvent", {
    description: "Something that was done in the organization. Events are only added, never changed or removed.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ scope: "inherited", description: "The event's id, `audit_…`.", resolve: ({ event }) => event.id }),
      number: t.exposeInt("number", {
        scope: "admin",
        description: "Counts the organization's events from 1, without gaps.",
      }),
      at: t.field({
        scope: "admin",
        type: "DateTime",
        description: "When the event was recorded.",
        resolve: ({ event }) => new Date(event.at),
      }),
      action: t.field({
        scope: "admin",
        type: enums.AuditAction,
        description: "What was done.",
        resolve: ({ event }) => event.action,
      }),
      actor: t.expose("actor", {
        scope: "admin",
        type: "Actor",
        description:
          "Who did it. The operator, on the command line, is `system`; of a failed sign-in, it is the account that was tried.",
      }),
      subject: t.field({
        scope: "admin",
        type: "AuditSubject",
        nullable: true,
        description: "What it was done to. Null if it was done to many objects at once.",
        resolve: ({ event }) => event.subject,
      }),
      address: t.string({
        scope: "admin",
        nullable: true,
        description: "The client's address. Null for the operator and for Autograph itself.",
        resolve: ({ event }) => event.address,
      }),
      userAgent: t.string({
        scope: "admin",
        nullable: true,
        description: `How the client identified itself: the first ${LIMITS.userAgentCharacters} characters.`,
        resolve: ({ event }) => event.userAgent,
      }),
      detail: t.field({
        scope: "admin",
        type: "JSON",
        description: "Further details: an object whose fields depend on `action`, such as `{from, to}` for a change.",
        resolve: ({ event }) => event.detail,
      }),
      hash: t.exposeString("hash", {
        scope: "admin",
        description:
          "The hash of this event and all before it. Note it elsewhere, and `autograph audit verify --head` can later prove that nothing up to this event was changed.",
      }),
    }),
  });
}

export async function findAuditEvent(context: Context, id: string): Promise<AuditEvent> {
  const { organizationId } = callerOf(context);
  const found = await readAuditEvent(context.auth.database, organizationId, idOf("auditEvent", id));
  return requireFound("auditEvent", found);
}

const EVENTS: List<AuditEvent> = {
  name: "auditEvents",
  write: ({ number }) => String(number),
  read: (key) => (/^[1-9]\d{0,14}$/.test(key) ? key : undefined),
};

type FilterInput = {
  action?: readonly AuditAction[] | null | undefined;
  actorId?: readonly string[] | null | undefined;
  createdFrom?: Date | null | undefined;
  createdBefore?: Date | null | undefined;
};

function addQuery(builder: Builder, enums: Enums): void {
  const filter = builder.inputType("AuditEventFilter", {
    description:
      "Selects the events that match every field given. A list selects the events that match any of its values; an empty list selects none.",
    fields: (t) => ({
      action: t.field({ type: [enums.AuditAction], required: false, description: "With any of these actions." }),
      actorId: t.idList({ required: false, description: "Done by any of these users or API keys." }),
      createdFrom: t.field({ type: "DateTime", required: false, description: "Recorded at this time or later." }),
      createdBefore: t.field({ type: "DateTime", required: false, description: "Recorded before this time." }),
    }),
  });
  builder.queryField("auditEvents", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "AuditEventConnection",
      extensions: PAGED,
      description: "Who did what from where in the organization, newest first.",
      args: {
        filter: t.arg({ type: filter, required: false, description: "Default: all." }),
        ...pageArguments(builder),
      },
      resolve: (_, { filter: given, ...page }, context) => {
        const wanted = filterOf(given ?? {});
        const { organizationId } = callerOf(context);
        return connect(EVENTS, page, (request) =>
          listAuditEvents(context.auth.database, organizationId, wanted, request),
        );
      },
    }),
  );
}

/** Nothing was done by what is no such id: it selects no event. */
function filterOf({ action, actorId, createdFrom, createdBefore }: FilterInput): AuditFilter {
  return {
    ...(action && { action: listOf(action, "filter.action") }),
    ...(actorId && { actorId: listOf(actorId, "filter.actorId").flatMap((id) => actorOf(id) ?? []) }),
    ...(createdFrom && { createdFrom }),
    ...(createdBefore && { createdBefore }),
  };
}

const actorOf = (id: string): UserId | ApiKeyId | undefined => decodeId("user", id) ?? decodeId("apiKey", id);
