import type { Actor } from "../lib/actor.ts";
import type { OrganizationId, ProjectId, SecretId } from "../lib/ids.ts";

/** The public part of a secret: never its value. */
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
