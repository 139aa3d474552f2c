/**
 * How a value lies in the database (lib/sealing/seal.ts). The key is derived from the installation's secret key and an id that stands in the
 * sealed text, so any process opens any value, before and after a rotation.
 */
import { randomBytes } from "node:crypto";
import type { OrganizationId, ProjectId } from "../lib/ids.ts";
import { openText, sealText } from "../lib/sealing/seal.ts";

/** Where a value belongs. Without a project it is the organization's. */
export type Owner = { organizationId: OrganizationId; projectId?: ProjectId; name: string };

export type Sealer = {
  seal(value: string, owner: Owner, keyId: string): Promise<string>;
  /** Undefined: it was not sealed with this installation's key, or not for this owner, or was changed. */
  open(sealed: string, owner: Owner): Promise<string | undefined>;
};

const KEY_ID_BYTES = 16;

export const newKeyId = (): string => randomBytes(KEY_ID_BYTES).toString("base64url");

/** `derive`: 32 bytes of the installation's secret key for one purpose. */
export function createSealer(derive: (purpose: string) => Buffer): Sealer {
  const keyOf = (keyId: unknown): Buffer => derive(`secrets v1 ${String(keyId)}`);
  return {
    seal: (value, owner, keyId) => sealText(value, subjectOf(owner), keyId, keyOf(keyId)),
    open: (sealed, owner) => openText(sealed, subjectOf(owner), keyOf),
  };
}

const subjectOf = ({ organizationId, projectId = "" as never, name }: Owner): string =>
  `${organizationId}/${projectId}/${name}`;
