/** Definitions and expressions. */
import { BY_NAME, type Limit } from "./limit.ts";

const READ_TEXT = "server/src/definition/text/read-text.test.ts";
const READING = "server/src/agents/reading.test.ts";
const HOSTILE_EXPRESSIONS = "server/src/expressions/hostile-expressions.test.ts";

export const DEFINITION = {
  definitionBytes: { value: 256 * 1024, bounds: "a definition's text", test: BY_NAME },
  definitionNesting: { value: 16, bounds: "tasks within tasks", test: BY_NAME },
  definitionTextNesting: {
    value: 100,
    bounds: "brackets or indentation of a definition's text",
    test: [READ_TEXT, "accepts the maximum of words, signs and levels, and refuses one more"],
  },
  definitionTokens: {
    value: 30_000,
    bounds: "YAML tokens of a definition's text",
    test: [READ_TEXT, "accepts the maximum of words, signs and levels, and refuses one more"],
  },
  functionsPerDefinition: { value: 100, bounds: "functions of a definition", test: BY_NAME },
  childForms: {
    value: 20,
    bounds: "forms of other agents that the inputs in a definition are compared with",
    beyond: "inputs for further agents are checked when these start",
    test: [
      "test/language-functions.test.ts",
      "inputs of children are compared with the forms of at most so many agents",
    ],
  },
  definitionExpressions: { value: 2_000, bounds: "expressions of a definition", test: BY_NAME },
  definitionExpressionCharacters: {
    value: 64 * 1024,
    bounds: "the texts of these expressions together; equal texts count once",
    test: BY_NAME,
  },
  definitionProblems: {
    value: 100,
    bounds: "problems reported at once",
    beyond: "the rest is left out",
    test: ["test/limits.test.ts", '"definitionProblems"'],
  },
  definitionsWaiting: {
    value: 10_000,
    bounds: "definitions that wait to be read; eight are read at a time, one per organization",
    beyond: "`UNAVAILABLE`",
    test: [READING, "%s the maximum of waiting definitions is read, one more is refused"],
  },
  definitionsWaitingOwn: {
    value: 2_000,
    bounds: "definitions of one organization among these",
    beyond: "`UNAVAILABLE`",
    test: [READING, "%s the maximum of waiting definitions is read, one more is refused"],
  },
  taskNameCharacters: { value: 100, bounds: "a task's name", test: BY_NAME },
  descriptionCharacters: { value: 10_000, bounds: "a description, a question, a comment", test: BY_NAME },
  handleCharacters: {
    value: 63,
    bounds: "the handle of a project or an agent: a definition's `namespace` and `name`",
    test: BY_NAME,
  },
  identifierCharacters: {
    value: 63,
    bounds: "the name of a variable, a secret, or anything under `use`",
    test: BY_NAME,
  },
  versionCharacters: { value: 64, bounds: "a definition's version", test: BY_NAME },
  fieldNameCharacters: { value: 64, bounds: "the name of a form's field", test: BY_NAME },
  formFields: { value: 100, bounds: "fields of a form", test: BY_NAME },
  formChoices: { value: 1_000, bounds: "choices of a field", test: BY_NAME },
  forkBranches: { value: 100, bounds: "branches of a `fork`", test: BY_NAME },
  eachConcurrency: { value: 100, bounds: "items of an `each` at the same time", test: BY_NAME },
  secretsPerDefinition: { value: 20, bounds: "names under `use.secrets` of a definition", test: BY_NAME },
  secretExpressions: {
    value: 100,
    bounds: "expressions of a definition that do more with a secret than pass it on: a part, a hash, base64",
    test: ["server/src/definition/linter.test.ts", "expressions that alter secrets are limited"],
  },
  schemaSteps: {
    value: 200_000,
    bounds: "steps of checking one value against a schema",
    test: [
      "server/src/definition/schema/schema-check.test.ts",
      "a check that costs too much ends with a sentence instead of holding the process",
    ],
  },
  jsonNesting: { value: 64, bounds: "nested brackets of a JSON text", test: BY_NAME },
  jsonSteps: {
    value: 75_000,
    bounds:
      "texts, lists and objects of a JSON text over 64 KiB (a request's, or an HTTP response's that a step takes). A key counts eight, but nothing if an object before it had the same keys so far. Numbers are free (a list of 500,000 is read), except those that a double cannot hold: each counts as a text",
    test: BY_NAME,
  },
  numberDigits: {
    value: 4_096,
    bounds: "digits of a number that a double cannot hold (`9007199254740993`, `1e400`); it keeps all of them",
    beyond: "refused, with its place",
    test: BY_NAME,
  },
  numberExponent: {
    value: 999_999,
    bounds: "the power of ten of such a number, above or below zero",
    beyond: "refused, with its place",
    test: BY_NAME,
  },
  expressionCharacters: { value: 16_000, bounds: "an expression's text", test: BY_NAME },
  expressionNesting: {
    value: 64,
    bounds: "levels of an expression: its brackets, and what is in the innermost",
    test: BY_NAME,
  },
  expressionOperators: { value: 1_000, bounds: "operators of an expression", test: BY_NAME },
  expressionMs: {
    value: 250,
    bounds: "processor time of an expression that jq runs",
    beyond: "it runs once more, alone",
    test: [HOSTILE_EXPRESSIONS, "they end, and this thread stays free"],
  },
  expressionRetryMs: {
    value: 2_000,
    bounds: "processor time of that second run",
    test: [HOSTILE_EXPRESSIONS, 'toBe("takes longer than 2000 ms")'],
  },
  expressionMemoryBytes: {
    value: 64 * 1024 * 1024,
    bounds: "jq's memory",
    test: [HOSTILE_EXPRESSIONS, "toMatch(/^needs more than 64 MiB/)"],
  },
  expressionDataBytes: {
    value: 8 * 1024 * 1024,
    bounds: "data and variables of an expression that jq runs, as JSON",
    test: ["server/src/expressions/native/native-limits.test.ts", "its data is larger than 8388608 bytes"],
  },
} satisfies Record<string, Limit>;
