import type { Agent } from "../../agents/agent.ts";
import type { Agents } from "../../agents/agents.ts";
import { readAgent } from "../../agents/published.ts";
import { record } from "../../audit/record.ts";
import { whoOf, type Acting } from "../../auth/caller.ts";
import { tidyName } from "../../auth/names.ts";
import { badInput, conflict, notFound, type FieldProblem } from "../../lib/errors.ts";
import type { AgentId, UserId } from "../../lib/ids.ts";
import type { Clock } from "../../lib/clock.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Database } from "../../storage/database.ts";
import type { FailedRuns } from "./failed-run-part.ts";
import { findMembers, holdRecipients, writeRecipients } from "./failure-store.ts";

type Setting = { agents: Agents; database: Database; clock: Clock; failedRuns: FailedRuns };

/**
 * Says which members get a mail when runs of the agent that triggers started fail, by their e-mails; an empty list: nobody. Throws
 * NOT_FOUND, BAD_USER_INPUT for an e-mail that no member has and for too many, and CONFLICT if the server sends no mail.
 */
export async function setFailureMails(
  { agents, database, clock, failedRuns }: Setting,
  caller: Acting,
  { agentId, emails }: { agentId: AgentId; emails: readonly string[] },
): Promise<Agent> {
  const { organizationId } = caller;
  const agent = await readAgent(agents, caller, agentId);
  if (!agent) throw notFound("Agent");
  if (emails.length > LIMITS.failureMailMembers) {
    const message = `must have at most ${LIMITS.failureMailMembers} items`;
    throw badInput("invalid_input", `input.emails ${message}`, [{ path: "input.emails", code: "too_many", message }]);
  }
  if (emails.length > 0 && !failedRuns.isOn)
    throw conflict("mail_not_configured", "this server sends no mail: its operator sets SMTP_URL and MAIL_FROM");
  const wanted = emails.map((email) => tidyName(email).toLowerCase());
  await database.transaction(async (query) => {
    const members = await findMembers(query, organizationId, wanted);
    const problems = wanted.flatMap((email, index): FieldProblem[] =>
      members.has(email)
        ? []
        : [{ path: `input.emails.${index}`, code: "invalid", message: "is the e-mail of no member" }],
    );
    if (problems.length > 0) throw badInput("invalid_input", `${problems[0]!.path} ${problems[0]!.message}`, problems);
    const userIds = new Set(wanted.map((email): UserId => members.get(email)!));
    const former = new Set(await holdRecipients(query, { organizationId, agentId }));
    if (former.symmetricDifference(userIds).size === 0) return;
    await writeRecipients(query, { organizationId, agentId }, [...userIds]);
    const subject = { kind: "agent", id: agentId, name: agent.name } as const;
    const detail = { to: [...new Set(wanted)] };
    await record(query, whoOf(caller), clock.now(), { action: "agent_failure_mails_set", subject, detail });
  }, organizationId);
  return agent;
}
