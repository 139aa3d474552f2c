/** A new password for users who have forgotten theirs, by a mailed link. */
import { LIMITS } from "../../lib/limits.ts";
import { requestPasswordReset } from "../../members/request-password-reset.ts";
import { resetPassword } from "../../members/reset-password.ts";
import type { Builder } from "../builder/builder.ts";
import { loginFrom } from "../context/context.ts";

export function addPasswordResets(builder: Builder): void {
  builder.objectType("PasswordReset", {
    description: "A forgotten password.",
    fields: (t) => ({
      email: t.exposeString("email", { scope: "inherited", description: "The e-mail address of the account." }),
    }),
  });
  addRequest(builder);
  addReset(builder);
}

function addRequest(builder: Builder): void {
  const input = builder.inputType("RequestPasswordResetInput", {
    description: "Input of `requestPasswordReset`.",
    fields: (t) => ({ email: t.string({ description: "The e-mail address of the account." }) }),
  });
  builder.mutationField("requestPasswordReset", (t) =>
    t.field({
      scope: "public",
      narrowedKeys: true,
      hasOwnCredential: true,
      triesPassword: true,
      type: "PasswordReset",
      description: `Mails the user who has this e-mail address a link that sets a new password once, within ${LIMITS.passwordResetMinutes} minutes. The answer is the same for an address that nobody has. Needs no credential. CONFLICT (\`mail_not_configured\`) if the server sends no mail; RATE_LIMITED after too many requests. An operation may have one \`requestPasswordReset\`.`,
      args: { input: t.arg({ type: input, description: "Input of `requestPasswordReset`." }) },
      resolve: (_, { input: request }, context) => requestPasswordReset(context.members, request, loginFrom(context)),
    }),
  );
}

function addReset(builder: Builder): void {
  const input = builder.inputType("ResetPasswordInput", {
    description: "Input of `resetPassword`.",
    fields: (t) => ({
      token: t.string({ description: "The part of the link after `#password-reset=`." }),
      password: t.string({
        description: `The new password, of ${LIMITS.passwordCharactersLeast} to ${LIMITS.passwordCharactersMost} characters.`,
      }),
    }),
  });
  builder.mutationField("resetPassword", (t) =>
    t.field({
      scope: "public",
      narrowedKeys: true,
      hasOwnCredential: true,
      triesPassword: true,
      type: "PasswordReset",
      description:
        "Sets a new password by a mailed link and ends all the user's sessions. Needs no credential. NOT_FOUND, always in the same words, if the token is wrong, was used or has expired. An operation may have one `resetPassword`.",
      args: { input: t.arg({ type: input, description: "Input of `resetPassword`." }) },
      resolve: (_, { input: request }, context) => resetPassword(context.members, request, loginFrom(context)),
    }),
  );
}
