/** Where expressions stand, which variables they know, and texts that are no expressions but look like one. */
import { isObject } from "../lib/json.ts";
import { compileExpression, expressionIn, type CompiledExpression } from "./expressions/template.ts";
import type { Found, Lint } from "./lint.ts";
import { scopeAt, unknownVariable } from "./scope.ts";

/** Wholly `${ … }`. */
export const isWhole = (text: string): boolean => expressionIn(text) !== undefined;

/** Always an expression, with or without `${ }`. */
export function expressionRule({ path, value }: Found, lint: Lint): void {
  const text = value as string;
  const report = (message: string): void => lint.report({ path, at: "value", message });
  const inner = expressionIn(text) ?? text.trim();
  if (inner === "") return report("the expression is empty");
  if (/\$\{/.test(withoutStrings(inner)))
    return report("${ } stands around a whole expression, once; take the inner one out");
  const [{ problem, variables }] = compileExpression(text).expressions as [CompiledExpression];
  if (problem) return report(doesNotCompile(problem.message));
  lint.expression({ path, text });
  if (variables.size === 0) return;
  const scope = scopeAt(lint.root, path, lint.variables);
  for (const name of variables) {
    if (lint.isFull()) return;
    const message = unknownVariable(name, scope);
    if (message !== undefined) report(message);
  }
}

export const doesNotCompile = (reason: string): string => `the expression does not compile: ${reason}`;

/** Any value; its texts are expressions when they are wholly `${ … }`. */
export function templateRule({ path, value, means }: Found, lint: Lint): void {
  if (typeof value === "string") {
    if (isWhole(value)) expressionRule({ path, value, means }, lint);
    else if (value.includes("${")) lint.report({ path, at: "value", message: MIXED });
  } else if (typeof value === "object" && value !== null) {
    // The last found is looked at first.
    for (const [key, child] of Object.entries(value).toReversed()) {
      const isText = typeof child === "string";
      if (isText ? child.includes("${") : typeof child === "object" && child !== null)
        lint.next({ path: [...path, Array.isArray(value) ? Number(key) : key], value: child, means: "template" });
    }
  }
}

const MIXED = 'text and ${ } are mixed; write one expression, such as ${ "Hello \\(.name)" }';

/** `from` and `as`: a text is an expression, an object holds some. */
export const fromOrAsRule = (found: Found, lint: Lint): void =>
  (typeof found.value === "string" ? expressionRule : templateRule)(found, lint);

export function setRule(found: Found, lint: Lint): void {
  const isPlainText = typeof found.value === "string" && !found.value.includes("${");
  if (isPlainText)
    lint.report({
      path: found.path,
      at: "value",
      message: 'a text alone cannot be set; write a key before it, or one expression such as "${ . }"',
    });
  else templateRule(found, lint);
}

/** What a URI template may hold (RFC 6570); `{name}` is the only form the DSL has. */
const URI = /^[A-Za-z][A-Za-z0-9+\-.]*:\/\/(?:[^\s\u0000-\u0020"'<>%\\^`{|}]|%[\da-fA-F]{2}|\{\w+(?:\.\w+)*\})*$/;

export function endpointRule(found: Found, lint: Lint): void {
  const text = found.value as string;
  const report = (message: string): void => lint.report({ path: found.path, at: "value", message });
  if (isWhole(text)) return oneLineRule(found, lint);
  if (text.includes("${"))
    return report(
      'text and ${ } are mixed; write {name} for a value of the input, or one expression such as ${ "https://example.com/\\(.id)" }',
    );
  if (!/^https?:\/\//i.test(text)) return report("the endpoint must begin with https:// or http://");
  if (!URI.test(text) || !URL.canParse(text.replaceAll(/\{[\w.]+\}/g, "x")))
    return report("this is no URL; write one such as https://example.com/orders/{id}");
  if (/^\w+:\/\/[^/?#]*@/.test(text)) report("a URL must not hold a password; write it under endpoint.authentication");
}

export function errorTypeRule(found: Found, lint: Lint): void {
  const text = found.value as string;
  if (isWhole(text)) return oneLineRule(found, lint);
  if (URI.test(text) && !text.includes("{")) return;
  const example = /^[\w-]+$/.test(text) ? text : "timeout";
  lint.report({
    path: found.path,
    at: "value",
    message: `the type of an error is a URI; write https://serverlessworkflow.io/spec/1.0.0/errors/${example}`,
  });
}

export function instanceRule(found: Found, lint: Lint): void {
  if (isWhole(found.value as string)) return oneLineRule(found, lint);
  if (/^(?:\/(?:[^~/]|~0|~1)*)*$/.test(found.value as string)) return;
  lint.report({
    path: found.path,
    at: "value",
    message: "instance is a JSON pointer; write one such as /do/0/fetch, or leave it out",
  });
}

/** The DSL's schema takes an expression in these places on one line only. */
export function oneLineRule(found: Found, lint: Lint): void {
  if ((found.value as string).trim().includes("\n")) {
    lint.report({
      path: found.path,
      at: "value",
      message: "an expression in this place must stand on one line; fold it with `>-`",
    });
  } else expressionRule(found, lint);
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const OURS = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "upgrade",
  "te",
  "trailer",
  "keep-alive",
]);

export function headersRule(found: Found, lint: Lint): void {
  if (!isObject(found.value)) return queryRule(found, lint);
  const report = (name: string, at: "key" | "value", message: string): void =>
    lint.report({ path: [...found.path, name], at, message });
  for (const [name, value] of Object.entries(found.value)) {
    if (!TOKEN.test(name)) report(name, "key", "this is no name of a header; write letters, digits and hyphens");
    else if (OURS.has(name.toLowerCase()))
      report(name, "key", `the header ${name} is set by the call itself; leave it out`);
    if (typeof value === "string" && !isWhole(value) && /[\r\n\0]/.test(value))
      report(name, "value", "the value of a header stands on one line");
  }
}

export function queryRule({ path, value, means }: Found, lint: Lint): void {
  if (typeof value !== "string") return;
  if (isWhole(value)) oneLineRule({ path, value, means }, lint);
  else lint.report({ path, at: "value", message: "write names with texts here, or one expression that yields them" });
}

/** jq's own texts may hold anything. One that is not closed goes to the end: looking on from each quote in it is n². */
const withoutStrings = (expression: string): string => expression.replaceAll(/"(?:[^"\\]|\\[\s\S])*(?:"|$)/g, '""');
