import { LIMITS } from "./limits.ts";

/** The names that a secret may have: as everything under `use` in a definition, so that `$secrets.NAME` reads it. */
export const SECRET_NAME = `^(?!__proto__$)[A-Za-z_][\\w.-]{0,${LIMITS.identifierCharacters - 1}}$`;

const SHAPE = new RegExp(SECRET_NAME);

export const isSecretName = (text: string): boolean => SHAPE.test(text);
