/** The parts of the DSL that are refused or have no effect, each with the reason and an alternative (docs/definitions.md). */

export const later = (what: string): string => `${what} is part of the language but not yet run by this release`;

export const REFUSED = {
  scriptSource:
    "a script from elsewhere is not accepted: it could change under a published version; write it under `code`",
  scriptStdin: "stdin is not accepted: a script is no process; name what it reads under `arguments`",
  scriptEnvironment: "environment is not accepted: a script is no process; name what it reads under `arguments`",
  scriptAwait: "await is not accepted beside script: a script's output is awaited",
  runContainer: "run: container is not run: Autograph has no container engine; call a service over http instead",
  runShell: "run: shell is not run: a definition must not command the machine; call a service over http instead",
  grant:
    "the grants client_credentials, password, refresh_token and urn:ietf:params:oauth:grant-type:token-exchange are run: for authorization_code nobody is there to sign in",
  certificate:
    "certificate authentication is not accepted: the language names it, but neither says what it contains nor has it in its schema; use another scheme",
  catalogs:
    "use.catalogs is not accepted: code from elsewhere could change under a published version; only the catalogue `default` exists",
  extensions: "use.extensions is not accepted: a task must do what it says; write the tasks before and after it",
  schedule:
    "schedule is not accepted: write a trigger of type cron or event in document.metadata.triggers, or give the agent one",
  scheduleCron:
    "schedule.cron is not accepted: write a trigger of type cron in document.metadata.triggers, with this as its schedule and with a timezone, or give the agent one",
  scheduleEvery:
    'schedule.every is not accepted: write a trigger of type cron in document.metadata.triggers, such as schedule: "*/15 * * * *" for every 15 minutes, or give the agent one',
  scheduleAfter:
    "schedule.after is not accepted: to run again some time after each run, write a trigger of type event in document.metadata.triggers, on run.completed of the source autograph, and begin with a wait; for fixed times write one of type cron",
  scheduleOn:
    "schedule.on is not accepted: write a trigger of type event in document.metadata.triggers, with the source and the event's type as event, or give the agent one",
  resource:
    "a schema from elsewhere is not accepted: it could change under a published version; write it under `document`",
  loose: "mode loose is not accepted: it turns texts into expressions by accident; write ${ } around expressions",
  pattern: "pattern is not accepted: a regular expression can block the whole server; use enum, format or maxLength",
  reference: "references between schemas are not accepted; write the schema where it is needed",
} as const;

/** Optional parts of the DSL that have no effect here. The definition is accepted with a warning for each. */
export const IGNORED = {
  runReturn:
    "return has no effect: it is for processes, which have an output stream; a workflow or a script answers with its output",
  issuers: "issuers has no effect: the token is for the called service, which checks it",
  tokenEndpoints: "this endpoint has no effect: tokens are asked for and sent, not looked at or revoked",
} as const;
