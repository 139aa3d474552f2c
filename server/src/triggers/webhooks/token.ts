/** The token makes a webhook's URL a credential: 256 random bits. It is found by its hash. */
import { createHash, randomBytes } from "node:crypto";
import { createSealer, type Sealer } from "../../secrets/seal.ts";

/** `derive`: 32 bytes of the installation's secret for one purpose. */
export const createTokenSealer = (derive: (purpose: string) => Buffer): Sealer =>
  createSealer((purpose) => derive(`webhook ${purpose}`));

const TOKEN_BYTES = 32;

export const newToken = (): string => randomBytes(TOKEN_BYTES).toString("base64url");
/** SHA-256; in hexadecimal. */
export const hashToken = (token: string): string => createHash("sha256").update(token).digest("hex");
