/** Creating the first owner of an installation, once: by the setup link, ADMIN_EMAIL, or the command line. */
import { COMMAND_LINE, SYSTEM, type From } from "../../audit/event.ts";
import { conflict, messageOf, OperatorError, Refusal } from "../../lib/errors.ts";
import type { Auth } from "../handle/auth.ts";
import { ownerCaller, type Acting } from "../caller.ts";
import { insertWithOwner } from "./create-organization.ts";
import { openSession, type LoginFrom } from "../sessions/login.ts";
import { emailProblem, nameProblem, passwordProblem, refuseProblems } from "../names.ts";
import type { Organization, User } from "../organization.ts";
import type { SignedIn } from "../sessions/session.ts";
import { isDuplicate } from "../../storage/pg-errors.ts";
import { isEmpty, nameOfEmail } from "./users.ts";

export type FirstOwner = { organization: string; name: string; email: string; password: string };
type SetUp = { organization: Organization; user: User; caller: Acting };

/** A holder of the setup link. */
const LINK = { kind: "link", id: null } as const;
const BY_SETTING: From = { address: null, note: "ADMIN_EMAIL" };

const alreadySetUp = (): Refusal => conflict("wrong_state", "Autograph is already set up: sign in instead");

/** By the setup link's token, and signs the owner in. Throws as `setup` does. */
export async function setUpAndSignIn(
  auth: Auth,
  input: FirstOwner & { token: string },
  from: LoginFrom,
): Promise<SignedIn> {
  const { user, organization } = await setup(auth, input, from);
  await auth.knownAddresses.note(user, from.address);
  return openSession(auth, { userId: user.id, organizationId: organization.id }, from);
}

/** By the setup link's token. Throws CONFLICT when it is set up already, UNAUTHENTICATED for a bad token, or BAD_USER_INPUT. */
export async function setup(auth: Auth, input: FirstOwner & { token: string }, from: From): Promise<SetUp> {
  // A guess costs no statement: the token is checked first, and if no link was given out there is an owner.
  if (!auth.setupLink.isOpen()) throw alreadySetUp();
  if (!auth.setupLink.fits(input.token)) {
    throw new Refusal("UNAUTHENTICATED", "the setup link is not valid or has expired: restart Autograph for a new one");
  }
  if (!(await isEmpty(auth))) throw alreadySetUp();
  const made = await createFirstOwner(auth, input, from);
  auth.setupLink.close();
  return made;
}

/** Without a token, for anyone who may read the data folder. Throws CONFLICT when there is a user, BAD_USER_INPUT. */
export async function createFirstOwner(auth: Auth, owner: FirstOwner, from: From = COMMAND_LINE): Promise<SetUp> {
  refuseProblems([
    nameProblem(owner.organization, "input.organization"),
    nameProblem(owner.name, "input.name"),
    emailProblem(owner.email, "input.email"),
    passwordProblem(owner.password, "input.password"),
  ]);
  const { password, ...rows } = owner;
  const passwordHash = await auth.passwords.hash(password);
  const by = { actor: from.note === undefined ? LINK : SYSTEM, from };
  const first = { ...rows, passwordHash, plan: auth.defaultPlan, onlyIfEmpty: true, by };
  const made = await insertWithOwner(auth, first).catch((error: unknown) => {
    throw isDuplicate(error) ? alreadySetUp() : error;
  });
  if (!made) throw alreadySetUp();
  const caller = ownerCaller(made.organization.id, made.owner);
  await auth.afterSetup({ ...caller, from: { address: null, note: "demo" } }).catch((error: unknown) => {
    auth.log.error({ reason: messageOf(error) }, "the demo project could not be created");
  });
  return { organization: made.organization, user: made.owner, caller };
}

/** `ADMIN_EMAIL` and `ADMIN_PASSWORD`: undefined when the database has a user already. Throws OperatorError. */
export async function createAdmin(auth: Auth, admin: { email: string; password: string }): Promise<SetUp | undefined> {
  if (!(await isEmpty(auth))) return undefined;
  const name = nameOfEmail(admin.email);
  try {
    return await createFirstOwner(auth, { organization: "My organization", name, ...admin }, BY_SETTING);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === "CONFLICT") return undefined;
    throw new OperatorError(`ADMIN_EMAIL and ADMIN_PASSWORD cannot be used to create an owner: ${error.message}`);
  }
}
