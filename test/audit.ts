/** For the tests of the audit: an organization of its own, and clients that are known by address and name. */
import type { Data, Variables } from "./client.ts";
import type { World } from "./server.ts";
import type { SharedServer } from "./shared-server.ts";

export const ADDRESS = "203.0.113.7";
export const USER_AGENT = "audit-test/1.0";
export const PASSWORD = "correct horse battery";

export const here = {} as { server: SharedServer; world: World };

/** On a server that takes an address from who stands before it. */
export async function open(server: SharedServer): Promise<void> {
  here.server = server;
  here.world = await here.server.organization("audited");
}

/** As a client behind a proxy sends it. */
export async function send(
  query: string,
  variables: Variables = {},
  token: string | null = here.world.apiKey,
): Promise<{ data: Data; errors?: Data[] }> {
  const response = await fetch(new URL("/graphql", here.server.url), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": USER_AGENT,
      "x-forwarded-for": ADDRESS,
      ...(token !== null && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as { data: Data; errors?: Data[] };
}

export async function done(query: string, variables?: Variables, token?: string | null): Promise<Data> {
  const { data, errors } = await send(query, variables, token);
  if (errors) throw new Error(JSON.stringify(errors));
  return Object.values(data)[0];
}

export const EVENT =
  "id number at action actor { kind id name } subject { kind id name } address userAgent detail hash";
export const LIST = `query ($filter: AuditEventFilter, $first: Int, $after: String) {
  auditEvents(filter: $filter, first: $first, after: $after) { nodes { ${EVENT} } pageInfo { hasNextPage endCursor } } }`;
export const list = async (variables: Variables = {}, token = here.world.apiKey): Promise<Data[]> =>
  (await here.server.data(LIST, { first: 200, ...variables }, token)).auditEvents.nodes;

/** All items of a connection. */
export async function pagesOf(query: string, variables: Variables = {}): Promise<Data[]> {
  const items: Data[] = [];
  for (let after: string | null = null; ;) {
    const data: Data = await here.server.data(query, { first: 200, ...variables, after }, here.world.apiKey);
    const page: Data = Object.values(data)[0];
    items.push(...page.nodes);
    if (!page.pageInfo.hasNextPage) return items;
    after = page.pageInfo.endCursor;
  }
}

/** The events recorded while `work` ran, oldest first. */
export async function eventsOf(work: () => Promise<unknown>, token?: string): Promise<Data[]> {
  const before = (await list({ first: 1 }, token))[0].number;
  await work();
  const after = await list({}, token);
  return after.filter(({ number }) => number > before).toReversed();
}

export const LOGIN = `mutation ($email: String!, $password: String!) {
  login(email: $email, password: $password) { accessToken refreshToken } }`;
export const signIn = (email = here.world.email, password = PASSWORD): Promise<Data> =>
  done(LOGIN, { email, password }, null);
export const meOf = async (token: string): Promise<string> =>
  (await here.server.data("{ me { id } }", {}, token)).me.id;
export const refresh = (refreshToken: string, organizationId?: string): Promise<Data> =>
  send(
    "mutation ($input: RefreshTokenInput!) { refreshToken(input: $input) { accessToken refreshToken } }",
    {
      input: { refreshToken, organizationId },
    },
    null,
  );

export const MAKE_KEY = "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { id name secret } }";
export const REVOKE_KEY = "mutation ($id: ID!) { revokeApiKey(input: {apiKeyId: $id}) { id } }";
export const MAKE_PROJECT = "mutation ($input: CreateProjectInput!) { createProject(input: $input) { id } }";
export const RENAME = "mutation ($name: String!) { renameOrganization(input: {name: $name}) { id } }";
export const INVITE = "mutation ($input: InviteMemberInput!) { inviteMember(input: $input) { id url } }";
export const UNINVITE = "mutation ($id: ID!) { revokeInvitation(input: {invitationId: $id}) { id } }";
export const ACCEPT = "mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { accessToken } }";
export const SET_ROLE = "mutation ($input: SetMemberRoleInput!) { setMemberRole(input: $input) { id } }";
export const REMOVE = "mutation ($id: ID!) { removeMember(input: {memberId: $id}) { id } }";
export const LEAVE = "mutation { leaveOrganization { id } }";
export const PUBLISH = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id name version } }";
export const SET_LIMIT = "mutation ($input: SetAgentLimitInput!) { setAgentLimit(input: $input) { id } }";
export const SET_STATUS = "mutation ($input: SetAgentStatusInput!) { setAgentStatus(input: $input) { id } }";
export const SET_SECRET = "mutation ($input: SetSecretInput!) { setSecret(input: $input) { id } }";
export const DELETE_SECRET = "mutation ($id: ID!) { deleteSecret(input: {secretId: $id}) { id } }";
export const CANCEL_MANY = "mutation ($input: CancelRunsInput!) { cancelRuns(input: $input) { cancelledCount } }";
export const DECIDE = "mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }";
export const LOGOUT = "mutation { logout { id } }";

export const tokenOf = ({ url }: Data): string => url.split("#invitation=")[1];
export const memberOf = (userId: string): string => userId.replace("user_", "member_");
