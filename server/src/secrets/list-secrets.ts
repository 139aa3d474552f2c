/** Names of secrets, and who set them when. */
import type { Caller } from "../auth/caller.ts";
import type { OrganizationId, ProjectId, SecretId } from "../lib/ids.ts";
import { checkPage, type Page, type PageRequest } from "../lib/page.ts";
import type { Secret } from "./secret.ts";
import type { Secrets } from "./secrets.ts";
import { pageOfSecrets, readSecretRow } from "./store.ts";

/** Newest first. `after` is a secret's id. */
export const listSecrets = (
  secrets: Pick<Secrets, "database">,
  caller: Caller,
  { projectId, ...page }: PageRequest & { projectId?: ProjectId },
): Promise<Page<Secret>> => pageOfSecrets(secrets.database, caller.organizationId, projectId, checkPage(page));

export const readSecret = (
  secrets: Pick<Secrets, "database">,
  organizationId: OrganizationId,
  id: SecretId,
): Promise<Secret | undefined> => readSecretRow(secrets.database, organizationId, id);
