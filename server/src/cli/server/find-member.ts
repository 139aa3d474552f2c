/** The member that a person means by an id or an e-mail. */
import { OperatorError, shortened } from "../../lib/errors.ts";
import { decodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Api } from "./api.ts";
import type { Page } from "../line/page.ts";

type Listed = { id: string; user: { email: string | null } };
type Data = { members: Page<Listed> & { pageInfo: { endCursor: string | null } } };

const LIST = `query ($first: Int!, $after: String) {
  members(first: $first, after: $after) { nodes { id user { email } } pageInfo { hasNextPage endCursor } }
}`;

/** For an id, the server is not asked whether there is such a member. Throws OperatorError. */
export async function findMemberId(api: Api, name: string): Promise<string> {
  if (decodeId("member", name) !== undefined) return name;
  if (!name.includes("@")) throw unknown(name, "is not a member id (member_…) or an e-mail");
  const email = name.normalize("NFC").toLowerCase();
  for (let after: string | null = null; ;) {
    const { members }: Data = await api.send<Data>(LIST, { first: LIMITS.pageSize, after });
    const found = members.nodes.find(({ user }) => user.email?.toLowerCase() === email);
    if (found) return found.id;
    if (!members.pageInfo.hasNextPage) throw unknown(name, "is not the e-mail of a member");
    after = members.pageInfo.endCursor;
  }
}

const unknown = (name: string, what: string): OperatorError =>
  new OperatorError(`${JSON.stringify(shortened(name))} ${what}: \`autograph members list\` shows them`);
