/** The whole schema. Nothing of it is made on import, and it is not made when a field has no entry in auth/field-scopes.ts. */
import type { GraphQLSchema } from "graphql";
import { addActor } from "./actors.ts";
import { addAgentSettings } from "./agent-settings.ts";
import { addAgentDrafts } from "./agent-drafts.ts";
import { addAgentVersions } from "./agent-versions.ts";
import { addAgents } from "./agents.ts";
import { addApiKeys } from "./api-keys.ts";
import { addApprovals } from "./approvals.ts";
import { addAudit } from "./audit.ts";
import { createBuilder } from "./builder.ts";
import { addChanges } from "./changes.ts";
import { addCaller } from "./caller.ts";
import { chargeFields } from "./charge.ts";
import { addPageInfo } from "./connection.ts";
import { addCounts } from "./counts.ts";
import { addDefinitions } from "./definitions.ts";
import { addEnums } from "./enums.ts";
import { addInvitations } from "./invitations.ts";
import { addMembers } from "./members.ts";
import { readFieldNeeds } from "./needs.ts";
import { addNode } from "./node.ts";
import { makeRootsNullable } from "./nullable-roots.ts";
import { addOrganizations } from "./organizations.ts";
import { addPlannedTasks } from "./planned-tasks.ts";
import { addPublish } from "./publish.ts";
import { addRates } from "./rates.ts";
import { addRelatives } from "./relatives.ts";
import { addRerunAndRetry } from "./rerun-and-retry.ts";
import { addRunFilter } from "./run-filter.ts";
import { addRunWaits } from "./run-waits.ts";
import { addRuns } from "./runs.ts";
import { addScalars } from "./scalars.ts";
import { addSecrets } from "./secrets.ts";
import { addSessions } from "./sessions.ts";
import { addSignIn } from "./sign-in.ts";
import { addStartAndCancel } from "./start-and-cancel.ts";
import { addStepCounts } from "./step-counts.ts";
import { addSteps } from "./steps.ts";
import { addUpdates } from "./updates.ts";

export function createSchema(): GraphQLSchema {
  const builder = createBuilder();
  const enums = addEnums(builder);
  builder.queryType({
    description:
      "Reads. The fields of an operation are executed side by side, and a refusal of one leaves the answers of the others.",
  });
  builder.mutationType({
    description:
      "Changes. The fields of an operation are executed one after another, and a refusal of one leaves the answers of the others.",
  });
  builder.subscriptionType({
    description: "Live changes, over WebSocket (`graphql-transport-ws`) or Server-Sent Events.",
  });
  addScalars(builder);
  builder.interfaceType("Node", {
    description: "An object with an id, which `node(id)` finds.",
    // Each type has its own resolver: ids are TypeIDs here and UUIDs within.
    fields: (t) => ({
      id: t.id({
        description: "The object's id. The prefix tells its type; treat the rest as opaque.",
        resolve: () => "",
      }),
    }),
  });
  addPageInfo(builder);
  addOrganizations(builder, enums);
  addMembers(builder, enums);
  addInvitations(builder, enums);
  addSignIn(builder);
  addSessions(builder, enums);
  addApiKeys(builder);
  addSecrets(builder);
  addActor(builder, enums);
  addCaller(builder, enums);
  addRates(builder, enums);
  addAudit(builder, enums);
  addAgents(builder, enums);
  addAgentVersions(builder);
  addAgentDrafts(builder);
  addPublish(builder);
  addAgentSettings(builder, enums);
  addDefinitions(builder, enums);
  const runFilter = addRunFilter(builder, enums);
  addRuns(builder, enums, runFilter);
  addRelatives(builder, runFilter);
  addStartAndCancel(builder, runFilter);
  addRerunAndRetry(builder);
  addSteps(builder, enums);
  addStepCounts(builder, enums);
  addRunWaits(builder);
  addPlannedTasks(builder);
  addApprovals(builder, enums);
  addNode(builder);
  addUpdates(builder);
  addChanges(builder);
  addCounts(builder, runFilter);
  const schema = chargeFields(makeRootsNullable(builder.toSchema({ sortSchema: false })));
  readFieldNeeds(schema);
  return schema;
}
