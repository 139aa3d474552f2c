/**
 * Tells the members who were chosen that runs which triggers started have failed: at most one mail per agent per hour, with how many
 * failed. The first failure is mailed at once.
 */
import { encodeId, type OrganizationId } from "../../lib/ids.ts";
import { messageOf } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { Loop, type Round } from "../../lib/loops/loop.ts";
import { queueMail } from "../../mail/queue-mail.ts";
import type { Mail } from "../../mail/mail.ts";
import type { FailedRuns } from "./failed-run-part.ts";
import { countFailures, dueFailures, takeFailures, type Due, type Failures } from "./failure-store.ts";

const LOOK_EVERY_MS = 60_000;
/** Failures that come together are counted together. */
const SOON_MS = 1_000;
const COUNTED_AT_ONCE = 1_000;
const MAILED_AT_ONCE = 100;
const HOUR_MS = 3_600_000;

type Mailing = { mail: Mail; url: string };

/** Undefined: the server sends no mail. */
export function mailFailures(mailing: Mailing, failedRuns: FailedRuns): Loop | undefined {
  const { clock, log, transport } = mailing.mail;
  if (!transport) return undefined;
  const loop = new Loop({
    clock,
    log,
    name: "failure-mails",
    everyMs: LOOK_EVERY_MS,
    look: (round) => look(mailing, round),
    failed: "mails of failed runs were not queued; trying again",
  }).start();
  failedRuns.look = () => loop.wake(clock.now() + SOON_MS);
  return loop;
}

async function look(mailing: Mailing, round: Round): Promise<void> {
  const { database, clock, log } = mailing.mail;
  while (round.goesOn() && (await countFailures(database, COUNTED_AT_ONCE)) === COUNTED_AT_ONCE);
  // Another look mails the rest of these: an agent of theirs failed, or another process has it.
  const without: OrganizationId[] = [];
  while (round.goesOn()) {
    const now = clock.now();
    const due = { until: now - LIMITS.failureMailMinutes * 60_000, void: now + HOUR_MS };
    const agents = await dueFailures(database, { due, without, most: MAILED_AT_ONCE });
    if (agents.length === 0) return;
    for (const agent of agents) {
      const isMailed = await mailOf(mailing, agent, due).catch((error: unknown) => {
        const about = { organization: agent.organizationId, reason: messageOf(error) };
        log.warn(about, "a mail of failed runs was not queued");
        return false;
      });
      if (!isMailed) without.push(agent.organizationId);
    }
  }
}

type Agent = Awaited<ReturnType<typeof dueFailures>>[number];

/** False: another process has it. */
async function mailOf({ mail, url }: Mailing, agent: Agent, due: Due): Promise<boolean> {
  const { organizationId, agentId } = agent;
  return mail.database.transaction(async (query) => {
    const failures = await takeFailures(query, agent, due, mail.clock.now());
    if (!failures) return false;
    const about = { url, agentId: encodeId("agent", agentId), ...failures };
    for (const to of failures.emails)
      await queueMail(mail, query, { organizationId, to, kind: "failures", ...textsOf(about) });
    return true;
  }, organizationId);
}

type About = Failures & { url: string; agentId: string };

function textsOf({ url, agentId, agent, failed, lastAt, lastRunId }: About): { subject: string; text: string } {
  const runs = failed === 1 ? "A run" : `${failed} runs`;
  return {
    subject: `${runs} of ${agent} failed`,
    text: `${runs} of ${agent} that ${failed === 1 ? "a trigger" : "triggers"} started failed.

The last one, at ${lastAt.toISOString()}:
${url}/runs/${encodeId("run", lastRunId)}

All that failed:
${url}/runs?status=failed&agent=${agentId}

There is at most one such mail per agent every ${LIMITS.failureMailMinutes} minutes. Who gets it is chosen at the agent's triggers:
${url}/agents/${agentId}?tab=triggers
`,
  };
}
