/** The signed-in user's own account: the password, and the sessions that are open. */
import { changePassword } from "../../auth/accounts/change-password.ts";
import {
  listSessions,
  readOwnSession,
  revokeOtherSessions,
  revokeOwnSession,
  type OwnSession,
} from "../../auth/sessions/own-sessions.ts";
import { encodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { idOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { actingOf, callerOf, loginFrom, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

export function addSessions(builder: Builder, enums: Enums): void {
  addSession(builder, enums);
  addConnection(builder, "Session");
  addQuery(builder);
  addRevoke(builder);
  addChangePassword(builder);
}

function addSession(builder: Builder, enums: Enums): void {
  builder.objectType("Session", {
    description:
      "A session of the signed-in user that has not ended. Its tokens are only in the answers of the mutations that created them.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("session", id),
        description: "The session's id, `session_…`.",
      }),
      organization: t.expose("organization", {
        scope: "inherited",
        type: "Organization",
        nullable: true,
        description:
          "The organization that the session is in. Null if the user has since left it or was removed from it.",
      }),
      client: t.expose("client", {
        scope: "inherited",
        type: enums.SessionClient,
        description: "What opened the session.",
      }),
      address: t.exposeString("address", {
        scope: "inherited",
        nullable: true,
        description:
          "The IP address that the session was opened from. Null if it was opened before addresses were recorded.",
      }),
      userAgent: t.exposeString("userAgent", {
        scope: "inherited",
        nullable: true,
        description: `How the client that opened the session identified itself (\`User-Agent\`): the first ${LIMITS.userAgentCharacters} characters, without control characters. Null if it did not.`,
      }),
      createdAt: t.expose("createdAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the session was opened.",
      }),
      refreshedAt: t.expose("refreshedAt", {
        scope: "inherited",
        type: "DateTime",
        description: `When the session last received an access token. The session was last used at most ${LIMITS.accessTokenMinutes} minutes after that.`,
      }),
      expiresAt: t.expose("expiresAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the session ends unless it is refreshed.",
      }),
      isCurrent: t.exposeBoolean("isCurrent", {
        scope: "inherited",
        description: "Whether this is the session that sent the request.",
      }),
    }),
  });
}

export const findSession = (context: Context, id: string): Promise<OwnSession> =>
  readOwnSession(context.auth, callerOf(context), idOf("session", id));

const SESSIONS = listById("sessions", "session");

function addQuery(builder: Builder): void {
  builder.queryField("sessions", (t) =>
    t.field({
      scope: null,
      narrowedKeys: false,
      type: "SessionConnection",
      extensions: PAGED,
      description: `The signed-in user's sessions that have not ended, in all organizations, newest first: ${LIMITS.sessionsPerUser} at most. FORBIDDEN for an API key.`,
      args: pageArguments(builder),
      resolve: (_, page, context) =>
        connect(SESSIONS, page, (request) => listSessions(context.auth, callerOf(context), request)),
    }),
  );
}

function addRevoke(builder: Builder): void {
  const input = builder.inputType("RevokeSessionInput", {
    description: "Input of `revokeSession`.",
    fields: (t) => ({ sessionId: t.id({ description: "The session's id." }) }),
  });
  builder.mutationField("revokeSession", (t) =>
    t.field({
      scope: null,
      narrowedKeys: false,
      type: "Session",
      description:
        "Ends one of the signed-in user's sessions; its subscriptions and waits end within 10 seconds. Returns the session as it was. FORBIDDEN for an API key.",
      args: { input: t.arg({ type: input, description: "Input of `revokeSession`." }) },
      resolve: (_, { input: { sessionId } }, context) =>
        revokeOwnSession(context.auth, actingOf(context), idOf("session", sessionId)),
    }),
  );
  builder.objectType("RevokeOtherSessionsResult", {
    description: "The outcome of `revokeOtherSessions`.",
    fields: (t) => ({
      revokedCount: t.exposeInt("revokedCount", { scope: "inherited", description: "How many sessions were ended." }),
    }),
  });
  builder.mutationField("revokeOtherSessions", (t) =>
    t.field({
      scope: null,
      narrowedKeys: false,
      type: "RevokeOtherSessionsResult",
      description:
        "Ends all sessions of the signed-in user except the one that sent the request, in all organizations; their subscriptions and waits end within 10 seconds. FORBIDDEN for an API key.",
      resolve: async (_, _arguments, context) => ({
        revokedCount: await revokeOtherSessions(context.auth, actingOf(context)),
      }),
    }),
  );
}

function addChangePassword(builder: Builder): void {
  const input = builder.inputType("ChangePasswordInput", {
    description: "Input of `changePassword`.",
    fields: (t) => ({
      currentPassword: t.string({ description: "The user's current password." }),
      newPassword: t.string({
        description: `The user's new password, of ${LIMITS.passwordCharactersLeast} to ${LIMITS.passwordCharactersMost} characters.`,
      }),
    }),
  });
  builder.mutationField("changePassword", (t) =>
    t.field({
      scope: null,
      narrowedKeys: false,
      triesPassword: true,
      type: "User",
      description:
        "Changes the signed-in user's password and ends all the user's other sessions, in all organizations; their subscriptions and waits end within 10 seconds. RATE_LIMITED after too many wrong passwords, as in `login`. FORBIDDEN for an API key. An operation may have one `changePassword`.",
      args: { input: t.arg({ type: input, description: "Input of `changePassword`." }) },
      resolve: (_, { input: change }, context) =>
        changePassword(context.auth, actingOf(context), change, loginFrom(context)),
    }),
  );
}
