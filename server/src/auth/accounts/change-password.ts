import { badInput, conflict, type FieldCode, type FieldProblem } from "../../lib/errors.ts";
import type { Auth } from "../handle/auth.ts";
import { notSignedIn, whoOf, type Acting, type Caller } from "../caller.ts";
import { tryPassword, type LoginFrom } from "../sessions/login.ts";
import { passwordProblem, refuseProblems } from "../names.ts";
import { requireSession } from "../sessions/own-sessions.ts";
import { samePassword } from "../sign-in/passwords.ts";
import { storePassword } from "./store-password.ts";
import { memberEmails } from "./users.ts";

type PasswordChange = { currentPassword: string; newPassword: string };

const problem = (name: keyof PasswordChange, code: FieldCode, message: string): FieldProblem => ({
  path: `input.${name}`,
  code,
  message,
});

/**
 * Ends the user's other sessions, in all organizations. Throws FORBIDDEN for an API key, BAD_USER_INPUT for a new password that
 * is not one or no new one, and for a wrong current one after the time and with the throttle of `login` (RATE_LIMITED), and
 * CONFLICT when the password was changed meanwhile.
 */
export async function changePassword(
  auth: Auth,
  caller: Acting,
  { currentPassword, newPassword }: PasswordChange,
  from: LoginFrom,
): Promise<Caller["user"]> {
  const { sessionId } = requireSession(caller, "changePassword");
  refuseProblems([
    passwordProblem(newPassword, "input.newPassword") ??
      (samePassword(newPassword, currentPassword)
        ? problem("newPassword", "repeated", "must be another one than the current password")
        : undefined),
  ]);
  const email = (await memberEmails(auth, caller.organizationId, [caller.user.id])).get(caller.user.id);
  if (email === undefined) throw notSignedIn();
  const { user, isRight, giveBack } = await tryPassword(auth, { email, password: currentPassword }, from);
  if (!user || !isRight) {
    const wrong = problem("currentPassword", "invalid", "is wrong");
    throw badInput("invalid_input", `currentPassword ${wrong.message}`, [wrong]);
  }
  await giveBack();
  auth.signIns.count(user.id);
  const isStored = await storePassword(auth, {
    userId: user.id,
    passwordHash: await auth.passwords.hash(newPassword),
    formerHash: user.passwordHash,
    session: { id: sessionId, organizationId: caller.organizationId },
    action: "password_changed",
    by: whoOf(caller),
  });
  if (!isStored) throw conflict("changed_meanwhile", "the password was changed at the same moment");
  await auth.knownAddresses.note({ id: user.id, email }, from.address);
  return caller.user;
}
