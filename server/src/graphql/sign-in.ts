/** Signing in and out, and setting up the first owner. */
import { login, openSession } from "../auth/login.ts";
import { logout } from "../auth/logout.ts";
import { refreshSession } from "../auth/refresh-session.ts";
import { setup } from "../auth/setup.ts";
import { LIMITS } from "../lib/limits.ts";
import { idOf } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { callerOf } from "./context.ts";

export function addSignIn(builder: Builder): void {
  addLoginResult(builder);
  addLogin(builder);
  addRefresh(builder);
  addLogout(builder);
  addSetup(builder);
}

function addLoginResult(builder: Builder): void {
  builder.objectType("LoginResult", {
    description: "A session's tokens.",
    fields: (t) => ({
      accessToken: t.exposeString("accessToken", { description: "Send it as `Authorization: Bearer <accessToken>`." }),
      refreshToken: t.exposeString("refreshToken", {
        description: `For \`refreshToken\`, once; good for ${LIMITS.refreshTokenDays} days.`,
      }),
      expiresAt: t.expose("expiresAt", {
        type: "DateTime",
        description: `When the access token ends, ${LIMITS.accessTokenMinutes} minutes from now.`,
      }),
    }),
  });
}

function addLogin(builder: Builder): void {
  builder.mutationField("login", (t) =>
    t.field({
      type: "LoginResult",
      description:
        "Signs in to the organization last used. An Authorization header is ignored. One `login` per operation; too many wrong ones are RATE_LIMITED.",
      args: {
        email: t.arg.string({ description: "The user's e-mail." }),
        password: t.arg.string({ description: "The user's password." }),
      },
      resolve: (_, credentials, { auth, origin }) =>
        login(auth, credentials, { address: origin.address, client: "api" }),
    }),
  );
}

function addRefresh(builder: Builder): void {
  const input = builder.inputType("RefreshTokenInput", {
    description: "A refresh token, and where to go on.",
    fields: (t) => ({
      refreshToken: t.string({ description: "As the last login or refresh gave it; void afterwards." }),
      organizationId: t.id({ required: false, description: "Go on in this organization of the user." }),
    }),
  });
  builder.mutationField("refreshToken", (t) =>
    t.field({
      type: "LoginResult",
      description: "New tokens for a refresh token. Using one a second time ends the session.",
      args: { input: t.arg({ type: input, description: "A refresh token, and where to go on." }) },
      resolve: (_, { input: { refreshToken, organizationId } }, { auth, origin }) =>
        refreshSession(auth, {
          refreshToken,
          address: origin.address,
          organizationId: organizationId == null ? undefined : idOf("organization", organizationId),
        }),
    }),
  );
}

function addLogout(builder: Builder): void {
  builder.mutationField("logout", (t) =>
    t.field({
      type: "User",
      description: "Ends the session of the access token it is called with, and answers whose it was.",
      resolve: async (_, _arguments, context) => {
        const caller = callerOf(context);
        await logout(context.auth, caller);
        return caller.user;
      },
    }),
  );
}

function addSetup(builder: Builder): void {
  const input = builder.inputType("SetupInput", {
    description: "The first organization and its owner.",
    fields: (t) => ({
      token: t.string({ description: "From the setup link that the server printed." }),
      organization: t.string({ description: "The organization's name." }),
      name: t.string({ description: "The owner's name." }),
      email: t.string({ description: "The owner's e-mail." }),
      password: t.string({ description: `At least ${LIMITS.passwordCharactersLeast} characters.` }),
    }),
  });
  builder.mutationField("setup", (t) =>
    t.field({
      type: "LoginResult",
      description: "Makes the first organization and its owner on an empty database, and signs in.",
      args: { input: t.arg({ type: input, description: "The first organization and its owner." }) },
      resolve: async (_, { input: request }, { auth, origin }) => {
        const { user, organization } = await setup(auth, request);
        await auth.knownAddresses.note(user, origin.address);
        return openSession(auth, { userId: user.id, organizationId: organization.id, client: "api" });
      },
    }),
  );
}
