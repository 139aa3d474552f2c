/** Limits of an organization's objects. */
import { BY_NAME, type Limit } from "./limit.ts";

const HOW_MANY = "server/src/agents/how-many.db.test.ts";
const INVITATIONS = "test/invitations.test.ts";
const RESETS = "server/src/members/password-resets.db.test.ts";
const MODELS = "server/src/models/models.db.test.ts";
const SECRETS = "server/src/secrets/secrets.db.test.ts";
const AUDIT = "server/src/audit/audit.db.test.ts";

export const ORGANIZATION = {
  projectsPerOrganization: {
    value: 1_000,
    bounds: "projects of an organization; some made at the same moment may exceed it",
    test: ["server/src/projects/projects.db.test.ts", "an organization has its 1,000 projects and not one more"],
  },
  agentsPerOrganization: {
    value: 10_000,
    bounds: "agents of an organization, with drafts and archived ones; some made at the same moment may exceed it",
    test: [HOW_MANY, "an organization has its 10,000 agents, drafts and archived ones with them"],
  },
  versionsPerAgent: {
    value: 10_000,
    bounds: "versions of an agent; an existing one can be published again",
    test: [HOW_MANY, "an agent has its 10,000 versions and not one more"],
  },
  membersPerOrganization: {
    value: 1_000,
    bounds: "members of an organization, those who accept at the same moment included",
    test: [
      "server/src/members/members.db.test.ts",
      "an organization has at most ${LIMITS.membersPerOrganization} members",
    ],
  },
  invitationsPerOrganization: {
    value: 100,
    bounds: "open invitations of an organization",
    test: [INVITATIONS, "has at most 100 open ones"],
  },
  invitationDays: {
    value: 7,
    bounds: "an invitation",
    beyond: "it has expired",
    test: [INVITATIONS, "has at most 100 open ones"],
  },
  invitationTries: {
    value: 20,
    bounds: "wrong passwords with one invitation",
    beyond: "its link is void",
    test: [INVITATIONS, "is void after 20 wrong passwords"],
  },
  passwordResetMinutes: {
    value: 60,
    bounds: "a mailed link to set a new password",
    beyond: "it has expired",
    test: [RESETS, "is void an hour later"],
  },
  passwordResetsPerUser: {
    value: 3,
    bounds: "open links of a user to set a new password",
    beyond: "no further one is mailed",
    test: [RESETS, "has at most 3 open links"],
  },
  passwordResetsAtOnce: {
    value: 100,
    bounds: "requests for a new password that are answered and not yet queued, in a process",
    test: [RESETS, "100 requests are under way at once and not one more"],
  },
  apiKeysPerOrganization: {
    value: 1_000,
    bounds: "live API keys of an organization",
    test: ["server/src/auth/api-keys/api-keys.db.test.ts", "an organization has at most 1,000 live keys"],
  },
  apiKeyDaysAfterEnd: {
    value: 90,
    bounds: "how long a revoked or expired API key stays in lists",
    beyond: "it is deleted, except for its name",
    test: ["test/former-keys.test.ts", "90 days after its end a key is deleted"],
  },
  keyReachIds: {
    value: 100,
    bounds: "projects and agents together that an API key is narrowed to",
    test: ["test/reach.test.ts", "to at most 100 projects and agents"],
  },
  secretsPerProject: {
    value: 200,
    bounds: "secrets of a project",
    test: [SECRETS, "a project has its 200 secrets and not one more"],
  },
  secretBytes: {
    value: 8 * 1024,
    bounds: "the value of a secret, and each text that a call authenticates with, as UTF-8",
    test: BY_NAME,
  },
  secretTexts: {
    value: 30,
    bounds: "texts in a secret that is a JSON object",
    test: [SECRETS, "names and values: what fits passes"],
  },
  modelConnectionsPerProject: {
    value: 50,
    bounds: "model connections of a project",
    test: [MODELS, "a project has its 50 and not one more"],
  },
  modelKeyCharacters: {
    value: 1_000,
    bounds: "the API key of a model connection",
    test: [MODELS, "is at its edge is taken"],
  },
  modelKeyHeaderCharacters: {
    value: 100,
    bounds: "the name of the header that a model's key goes in",
    test: [MODELS, "is at its edge is taken"],
  },
  modelPricePerMillion: {
    value: 1_000_000,
    bounds: "the price of a million tokens",
    test: [MODELS, "is at its edge is taken"],
  },
  modelConcurrency: {
    value: 1_000,
    bounds: "calls at a time that a model connection may allow",
    test: [MODELS, "is at its edge is taken"],
  },
  modelDayMost: {
    value: 1_000_000_000_000,
    bounds: "tokens, and their cost, that a model connection may allow a day",
    test: [MODELS, "is at its edge is taken"],
  },
  auditEventBytes: {
    value: 16 * 1024,
    bounds: "an event of the audit, as JSON",
    beyond: "its change is undone with it; no operation writes such an event",
    test: [AUDIT, "an event that can't be written takes its change with it"],
  },
  auditFailedSignInsPerHour: {
    value: 100,
    bounds: "failed sign-ins per hour that an organization's audit keeps; the last one says so",
    beyond: "further ones are not recorded",
    test: [AUDIT, "of failed sign-ins so many an hour are kept, and the last one says so"],
  },
} satisfies Record<string, Limit>;
