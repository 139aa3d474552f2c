/** Members of a test's organization, who sign in as themselves. */
import { randomUUID } from "node:crypto";
import type { Answer, TestServer } from "./client.ts";

type Server = Pick<TestServer, "data" | "graphql">;
type Role = "owner" | "admin" | "editor" | "runner" | "viewer";

/** `memberId`: of their membership. */
export type Member = { name: string; email: string; password: string; userId: string; memberId: string; token: string };

const INVITE = "mutation ($input: InviteMemberInput!) { inviteMember(input: $input) { url } }";
const ACCEPT = "mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { accessToken } }";
const WHO = "{ me { id } }";
const MEMBERS = "{ members(first: 200) { nodes { id user { id } } } }";

export async function join(server: Server, role: Role, name = role as string): Promise<Member> {
  const email = `${name}.${randomUUID().slice(0, 8)}@example.org`;
  const password = "correct horse battery";
  const { inviteMember } = await server.data(INVITE, { input: { role } });
  const input = { token: inviteMember.url.split("#invitation=")[1], name, email, password };
  const token = (await server.data(ACCEPT, { input }, null)).acceptInvitation.accessToken;
  const userId = (await server.data(WHO, {}, token)).me.id;
  const { nodes } = (await server.data(MEMBERS)).members;
  const memberId = nodes.find((one: { user: { id: string } }) => one.user.id === userId).id;
  return { name, email, password, userId, memberId, token };
}

export const login = async (
  server: Server,
  { email, password }: { email: string; password: string },
): Promise<string> =>
  (
    await server.data(
      "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }",
      { email, password },
      null,
    )
  ).login.accessToken;

export const codeOf = ({ errors }: Answer): string | undefined => errors?.[0]?.extensions.code;
/** `CODE reason` of a refusal; undefined of an answer. */
export const refusalOf = ({ errors }: Answer): string | undefined =>
  errors?.[0] && `${errors[0].extensions.code} ${errors[0].extensions["reason"]}`;
