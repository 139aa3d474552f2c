/** Rules for expressions: their variables, their secrets, and texts that only look like one. */
import { isScalar } from "../../lib/json/json.ts";
import { compileExpression, expressionIn, type CompiledExpression } from "../../expressions/template.ts";
import type { Found, Lint } from "./lint.ts";
import { unknownVariable } from "./known-variables.ts";
import { secretProblems } from "./rules-secrets.ts";

/** Whether all of it is `${ … }`. */
export const isWhole = (text: string): boolean => expressionIn(text) !== undefined;

/** Always an expression, with or without `${ }`. */
export function expressionRule({ path, value }: Found, lint: Lint): void {
  const text = value as string;
  const report = (message: string): void => lint.report({ path, at: "value", message });
  const inner = expressionIn(text) ?? text.trim();
  if (inner === "") return report("the expression is empty");
  if (/\$\{/.test(withoutStrings(inner)))
    return report("${ } goes around a whole expression, once; remove the inner one");
  const [compiled] = compileExpression(text).expressions as [CompiledExpression];
  const { problem, variables } = compiled;
  if (problem) return report(doesNotCompile(problem.message));
  lint.expression({ path, text });
  if (variables.size === 0) return;
  const known = lint.known(path);
  for (const name of variables) {
    if (lint.isFull()) return;
    const message = unknownVariable(name, known);
    if (message !== undefined) report(message);
  }
  if (!known.has("secrets")) return;
  for (const message of secretProblems(compiled, lint)) {
    if (lint.isFull()) return;
    report(message);
  }
}

export const doesNotCompile = (reason: string): string => `the expression does not compile: ${reason}`;

/** Any value. A text in it is an expression if all of it is `${ … }`. */
export function templateRule({ path, value, means }: Found, lint: Lint): void {
  if (typeof value === "string") {
    if (isWhole(value)) expressionRule({ path, value, means }, lint);
    else if (value.includes("${")) lint.report({ path, at: "value", message: MIXED });
  } else if (!isScalar(value)) {
    // The last one added is visited first.
    for (const [key, child] of Object.entries(value).toReversed()) {
      const isText = typeof child === "string";
      if (isText ? child.includes("${") : !isScalar(child))
        lint.next({ path: [...path, Array.isArray(value) ? Number(key) : key], value: child, means: "template" });
    }
  }
}

const MIXED = 'text and ${ } are mixed; write one expression, such as ${ "Hello \\(.name)" }';

/** `from` and `as`: a text is an expression, an object contains some. */
export const fromOrAsRule = (found: Found, lint: Lint): void =>
  (typeof found.value === "string" ? expressionRule : templateRule)(found, lint);

/** The characters of a URI template (RFC 6570); `{name}` is the only form the DSL has. */
export const URI =
  /^[A-Za-z][A-Za-z0-9+\-.]*:\/\/(?:[^\s\u0000-\u0020"'<>%\\^`{|}]|%[\da-fA-F]{2}|\{\w+(?:\.\w+)*\})*$/;

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

/** In these places the DSL's schema accepts an expression only on one line. */
export function oneLineRule(found: Found, lint: Lint): void {
  if ((found.value as string).trim().includes("\n")) {
    lint.report({
      path: found.path,
      at: "value",
      message: "an expression here must be on one line; fold it with `>-`",
    });
  } else expressionRule(found, lint);
}

/** jq's own texts may contain anything. An unclosed one extends to the end, also with a last \: trying again at each quote would take quadratic time. */
const withoutStrings = (expression: string): string => expression.replaceAll(/"(?:[^"\\]|\\[^])*(?:"|\\?$)/g, '""');
