/** What is part of the DSL but refused here, each with the reason and what to do instead (docs/definitions.md). */

const later = (what: string): string => `${what} is part of the language but not yet run by this release`;

export const REFUSED = {
  listen: later("listen"),
  emit: later("emit"),
  runScript: `${later("run: script")}; when it is, the language will be js`,
  runContainer: "run: container is not run: Autograph has no container engine; call a service over http instead",
  runShell: "run: shell is not run: a definition must not command the machine; call a service over http instead",
  runReturn: "return is for processes, which have an output stream; a workflow answers with its output; leave it out",
  functions: `${later("use.functions")}; write the call where it is needed`,
  secrets: "use.secrets needs the store of secrets, which is not yet part of this release",
  secretUse: "a credential from a secret needs the store of secrets, which is not yet part of this release",
  digest: `${later("digest authentication")}; use basic or bearer`,
  oauth2: `${later("oauth2 authentication")}; use bearer with a token`,
  oidc: `${later("oidc authentication")}; use bearer with a token`,
  certificate: "certificate authentication is not taken: a definition has no files; use basic or bearer",
  catalogs:
    "use.catalogs is not taken: code from elsewhere could change under a published version; only the catalogue `default` is there",
  extensions: "use.extensions is not taken: a task must do what it says; write the tasks before and after it",
  schedule:
    "schedule is not taken: starts are set beside the definition; give the agent a trigger of type cron or event",
  triggers: later("document.metadata.triggers"),
  resource:
    "a schema from elsewhere is not taken, as it could change under a published version; write it under `document`",
  loose: "mode loose is not taken, as it makes a text an expression by accident; write ${ } around expressions",
  pattern: "pattern is not taken: a regular expression can hold the whole server; use enum, format or maxLength",
  reference: "references between schemas are not taken; write the schema where it is needed",
} as const;

const CALLS = new Map([
  ["grpc", "call: grpc is not run; call the service over http instead"],
  ["asyncapi", "call: asyncapi is not run; call the broker over http instead"],
  ["openapi", later("call: openapi")],
  ["mcp", later("call: mcp")],
  ["a2a", later("call: a2a")],
]);
const CATALOGUE = ["approval", "each"];
const LATER_IN_CATALOGUE = ["llm", "assistant", "email"];

/** Why a `call` other than `http` and those of the catalogue is refused. */
export function refusedCall(call: string): string {
  const [, name, catalogue] = /^([\w-]{1,100}):[^@]+@([\w.-]{1,100})$/.exec(call) ?? [];
  const known = CALLS.get(call);
  if (known !== undefined) return known;
  if (LATER_IN_CATALOGUE.includes(call)) return later(`call: ${call}`);
  if (CATALOGUE.includes(call)) return `write the whole name: ${call}:1.0.0@default`;
  if (name === undefined || catalogue === undefined)
    return "there is nothing to call by this name; write http, approval:1.0.0@default or each:1.0.0@default (calls of functions are not yet run by this release)";
  if (catalogue !== "default") return REFUSED.catalogs.replace("use.catalogs", `the catalogue ${catalogue}`);
  if (LATER_IN_CATALOGUE.includes(name)) return later(`call: ${name}`);
  if (CATALOGUE.includes(name)) return `${name} has the version 1.0.0; write ${name}:1.0.0@default`;
  return `the catalogue default has no ${name}; it has approval:1.0.0 and each:1.0.0`;
}
