/** The `Authorization` header of the schemes that need nothing from the other side. */
import { HALF_OF_A_PAIR } from "../../definition/tasks/http-body.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";

/** Undefined: the policy says nothing that goes into the header at once. Throws an `authentication` error. */
export function authorizationOf({ basic, bearer }: JsonObject): string | undefined {
  if (isObject(basic)) {
    const { username, password } = userOf(basic);
    return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  }
  if (!isObject(bearer)) return undefined;
  const token = credential(bearer, "token");
  if (token === "") throw unusable("token is empty");
  return `Bearer ${token}`;
}

export function userOf(fields: JsonObject): { username: string; password: string } {
  const [username, password] = [credential(fields, "username"), credential(fields, "password")];
  if (username === "" && password === "") throw unusable("username and password are empty");
  return { username, password };
}

/** Names what is wrong, but never shows the value. */
export function credential(of: JsonObject, name: string): string {
  const value: Json | undefined = of[name];
  if (typeof value !== "string") throw unusable(`${name} is ${value == null ? "null" : "not a text"}`);
  if (!value.isWellFormed()) throw unusable(`${name} ${HALF_OF_A_PAIR}`);
  return value;
}

export const unusable = (why: string): WorkflowError =>
  WorkflowError.of("authentication", `the authentication's ${why}, so nothing was sent`);
