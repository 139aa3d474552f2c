import path from "node:path";

/** For `NODE_COMPILE_CACHE`: where Node keeps what it compiled. */
export const COMPILED = path.join(import.meta.dirname, "../node_modules/.cache/autograph-compiled");
