/**
 * How a value lies in the database: a compact JWE (RFC 7516), encrypted directly with AES-256-GCM. The key is derived from the
 * installation's secret key and an id that stands in the JWE's header (`kid`), so any process opens any value, before and
 * after a rotation. The header also says whose value it is, and is authenticated: a value that was copied to another row by
 * somebody who can write to the database does not open there.
 */
import { randomBytes } from "node:crypto";
import { compactDecrypt, CompactEncrypt } from "jose";
import type { OrganizationId, ProjectId } from "../lib/ids.ts";

/** Where a value belongs. Without a project it is the organization's. */
export type Owner = { organizationId: OrganizationId; projectId?: ProjectId; name: string };

export type Sealer = {
  seal(value: string, owner: Owner, keyId: string): Promise<string>;
  /** Undefined: it was not sealed with this installation's key, or not for this owner, or was changed. */
  open(sealed: string, owner: Owner): Promise<string | undefined>;
};

const ALGORITHM = { alg: "dir", enc: "A256GCM" } as const;
const KEY_ID_BYTES = 16;

export const newKeyId = (): string => randomBytes(KEY_ID_BYTES).toString("base64url");

/** `derive`: 32 bytes of the installation's secret key for one purpose. */
export function createSealer(derive: (purpose: string) => Buffer): Sealer {
  const keyOf = (keyId: unknown): Buffer => derive(`secrets v1 ${String(keyId)}`);
  return {
    seal: (value, owner, keyId) =>
      new CompactEncrypt(Buffer.from(value))
        .setProtectedHeader({ ...ALGORITHM, kid: keyId, sub: subjectOf(owner) })
        .encrypt(keyOf(keyId)),
    async open(sealed, owner) {
      try {
        const { plaintext, protectedHeader } = await compactDecrypt(sealed, ({ kid }) => keyOf(kid), {
          keyManagementAlgorithms: [ALGORITHM.alg],
          contentEncryptionAlgorithms: [ALGORITHM.enc],
        });
        return protectedHeader["sub"] === subjectOf(owner) ? Buffer.from(plaintext).toString() : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

const subjectOf = ({ organizationId, projectId = "" as never, name }: Owner): string =>
  `${organizationId}/${projectId}/${name}`;
