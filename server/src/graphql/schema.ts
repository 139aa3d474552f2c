/** The whole schema. Nothing of it is made on import. */
import type { GraphQLSchema } from "graphql";
import { addAgentSettings } from "./agent-settings.ts";
import { addAgentVersions } from "./agent-versions.ts";
import { addAgents } from "./agents.ts";
import { addApiKeys } from "./api-keys.ts";
import { addApprovals } from "./approvals.ts";
import { createBuilder } from "./builder.ts";
import { addChanges } from "./changes.ts";
import { chargeFields } from "./charge.ts";
import { addPageInfo } from "./connection.ts";
import { addDefinitions } from "./definitions.ts";
import { addEnums } from "./enums.ts";
import { guardFields } from "./guard.ts";
import { addNode } from "./node.ts";
import { addOrganizations } from "./organizations.ts";
import { addPublish } from "./publish.ts";
import { addRelatives } from "./relatives.ts";
import { addRerunAndRetry } from "./rerun-and-retry.ts";
import { addRunFilter } from "./run-filter.ts";
import { addRuns } from "./runs.ts";
import { addScalars } from "./scalars.ts";
import { addSignIn } from "./sign-in.ts";
import { addStartAndCancel } from "./start-and-cancel.ts";
import { addSteps } from "./steps.ts";
import { addUpdates } from "./updates.ts";

export function createSchema(): GraphQLSchema {
  const builder = createBuilder();
  const enums = addEnums(builder);
  builder.queryType({ description: "Reading." });
  builder.mutationType({ description: "Changing. The fields of one operation are executed one after the other." });
  builder.subscriptionType({ description: "Watching, over WebSocket (graphql-transport-ws) or Server-Sent Events." });
  addScalars(builder);
  builder.interfaceType("Node", {
    description: "Anything with an id of its own (Relay): `node(id)` finds it.",
    // Each type has a resolver of its own: ids are TypeIDs here and UUIDs within.
    fields: (t) => ({ id: t.id({ description: "A TypeID, like `run_01kb3v…`.", resolve: () => "" }) }),
  });
  addPageInfo(builder);
  addOrganizations(builder, enums);
  addSignIn(builder);
  addApiKeys(builder);
  addAgents(builder, enums);
  addAgentVersions(builder);
  addPublish(builder);
  addAgentSettings(builder, enums);
  addDefinitions(builder);
  const runFilter = addRunFilter(builder, enums);
  addRuns(builder, enums, runFilter);
  addRelatives(builder);
  addStartAndCancel(builder, runFilter);
  addRerunAndRetry(builder);
  addSteps(builder, enums);
  addApprovals(builder, enums);
  addNode(builder);
  addUpdates(builder);
  addChanges(builder);
  return guardFields(chargeFields(builder.toSchema({ sortSchema: false })));
}
