import type { Actor } from "../lib/actor.ts";
import type { OrganizationId, ProjectId, SecretId } from "../lib/ids.ts";

/** What everybody may see of a secret who may see that there is one: never its value. */
export type Secret = {
  id: SecretId;
  organizationId: OrganizationId;
  projectId: ProjectId;
  name: string;
  createdBy: Actor;
  createdAt: Date;
  /** Who gave it its present value, and when. */
  updatedBy: Actor;
  updatedAt: Date;
};

/** Values by name. A secret that is not there, or does not open, has none. */
export type SecretValues = ReadonlyMap<string, string>;
