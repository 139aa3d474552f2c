/** Why a `call` is refused: this release does not run it, or its name is misspelt. */
import { enumerate } from "../text/problem.ts";
import { later, REFUSED } from "../schema/refusals.ts";
import { CALL_NAMES } from "../tasks/kinds.ts";

const CALLS = new Map([
  ["grpc", "call: grpc is not run; call the service over http instead"],
  ["asyncapi", "call: asyncapi is not run; call the broker over http instead"],
  ["a2a", later("call: a2a")],
]);
/** The calls in the catalogue by their short names: `approval` is `approval:1.0.0@default`. */
const CATALOGUE = new Map(
  CALL_NAMES.filter((call) => call.endsWith("@default")).map((call) => [call.split(":")[0]!, call]),
);

/** Why a `call` that is neither `http`, `openapi`, `mcp` nor in the catalogue is refused. */
export function explainRefusedCall(call: string): string {
  const [, name, catalogue] = /^([\w-]{1,100}):[^@]+@([\w.-]{1,100})$/.exec(call) ?? [];
  const elsewhere = CALLS.get(call);
  if (elsewhere !== undefined) return elsewhere;
  if (CATALOGUE.has(call)) return `write the whole name: ${CATALOGUE.get(call)}`;
  if (name === undefined || catalogue === undefined)
    return `there is nothing to call by this name; write ${enumerate(CALL_NAMES, "or")}, or the name of a function under use.functions`;
  if (catalogue !== "default") return REFUSED.catalogs.replace("use.catalogs", `the catalogue ${catalogue}`);
  const whole = CATALOGUE.get(name);
  if (whole !== undefined)
    return `${name} has the version ${whole.slice(name.length + 1, -"@default".length)}; write ${whole}`;
  const known = [...CATALOGUE.values()].map((one) => one.replace("@default", ""));
  return `the catalogue default has no ${name}; it has ${enumerate(known, "and")}`;
}
