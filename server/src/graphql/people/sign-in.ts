/** Signing in and out, and setting up the first owner. */
import { login } from "../../auth/sessions/login.ts";
import { logout } from "../../auth/sessions/logout.ts";
import { refreshSession } from "../../auth/sessions/refresh-session.ts";
import { setUpAndSignIn } from "../../auth/accounts/setup.ts";
import { LIMITS } from "../../lib/limits.ts";
import { idOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { actingOf, loginFrom } from "../context/context.ts";

export function addSignIn(builder: Builder): void {
  addLoginResult(builder);
  addLogin(builder);
  addRefresh(builder);
  addLogout(builder);
  addSetup(builder);
}

function addLoginResult(builder: Builder): void {
  builder.objectType("LoginResult", {
    description: "The tokens of a session.",
    fields: (t) => ({
      accessToken: t.exposeString("accessToken", {
        scope: "inherited",
        description: "The credential for requests: `Authorization: Bearer <accessToken>`.",
      }),
      refreshToken: t.exposeString("refreshToken", {
        scope: "inherited",
        description: `The argument of \`refreshToken\`. It works once, within ${LIMITS.refreshTokenDays} days.`,
      }),
      expiresAt: t.expose("expiresAt", {
        scope: "inherited",
        type: "DateTime",
        description: `When the access token expires, ${LIMITS.accessTokenMinutes} minutes from now.`,
      }),
    }),
  });
}

function addLogin(builder: Builder): void {
  builder.mutationField("login", (t) =>
    t.field({
      scope: "public",
      narrowedKeys: true,
      hasOwnCredential: true,
      triesPassword: true,
      type: "LoginResult",
      description:
        "Signs in with e-mail and password, to the organization last used. An Authorization header is ignored. An operation may have one `login`. RATE_LIMITED after too many failed attempts.",
      args: {
        email: t.arg.string({ description: "The user's e-mail address." }),
        password: t.arg.string({ description: "The user's password." }),
      },
      resolve: (_, credentials, context) => login(context.auth, credentials, loginFrom(context)),
    }),
  );
}

function addRefresh(builder: Builder): void {
  const input = builder.inputType("RefreshTokenInput", {
    description: "Input of `refreshToken`.",
    fields: (t) => ({
      refreshToken: t.string({
        description: "The refresh token from the last `login` or `refreshToken`. It works once.",
      }),
      organizationId: t.id({
        required: false,
        description: "The organization to continue in. The user must be a member. Default: the session's organization.",
      }),
    }),
  });
  builder.mutationField("refreshToken", (t) =>
    t.field({
      scope: "public",
      narrowedKeys: true,
      hasOwnCredential: true,
      type: "LoginResult",
      description: "Exchanges a refresh token for new tokens. Using a refresh token a second time ends the session.",
      args: { input: t.arg({ type: input, description: "Input of `refreshToken`." }) },
      resolve: (_, { input: { refreshToken, organizationId } }, { auth, origin }) =>
        refreshSession(auth, {
          refreshToken,
          address: origin.address,
          userAgent: origin.userAgent,
          organizationId: organizationId == null ? undefined : idOf("organization", organizationId),
        }),
    }),
  );
}

function addLogout(builder: Builder): void {
  builder.mutationField("logout", (t) =>
    t.field({
      scope: null,
      narrowedKeys: true,
      type: "User",
      description: "Signs out: ends the session of the access token that was sent. Returns the session's user.",
      resolve: async (_, _arguments, context) => {
        const caller = actingOf(context);
        await logout(context.auth, caller);
        return caller.user;
      },
    }),
  );
}

function addSetup(builder: Builder): void {
  const input = builder.inputType("SetupInput", {
    description: "Input of `setup`.",
    fields: (t) => ({
      token: t.string({ description: "The token of the setup link that the server printed." }),
      organization: t.string({
        description: `The organization's name, of at most ${LIMITS.nameCharacters} characters.`,
      }),
      name: t.string({ description: `The owner's name, of at most ${LIMITS.nameCharacters} characters.` }),
      email: t.string({ description: "The owner's e-mail address." }),
      password: t.string({
        description: `The owner's password, of ${LIMITS.passwordCharactersLeast} to ${LIMITS.passwordCharactersMost} characters.`,
      }),
    }),
  });
  builder.mutationField("setup", (t) =>
    t.field({
      scope: "public",
      narrowedKeys: true,
      hasOwnCredential: true,
      type: "LoginResult",
      description: "Creates the first organization and its owner in an empty database, and signs the owner in.",
      args: { input: t.arg({ type: input, description: "Input of `setup`." }) },
      resolve: (_, { input: request }, context) => setUpAndSignIn(context.auth, request, loginFrom(context)),
    }),
  );
}
