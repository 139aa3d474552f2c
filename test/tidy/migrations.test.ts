/**
 * Migrations only add. There are databases that were made by these texts, and a change to one would make new databases differ
 * from them: write another migration instead. Comments may be put better, so they don't count.
 */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { MIGRATIONS } from "../../server/src/storage/migrate.ts";
import { filesBelow } from "./source.ts";

const HASHES: Record<string, string> = {
  "0001-start": "dd01135bedf79b81f7a192fae288dc8b2a59248922d90b03464dc48647554d2b",
  "0002-models": "e50e8bb8e1d4895b69c8732bf4edf8c1abd59601e26bcc91dd9fe1049218abbf",
  "0003-model-calls": "ac3c7b8668aa5d7e4798428fac055bcb6678e75b16c2439d0510565f2e897454",
  "0004-model-budgets": "127f684b4ea0948ed969a57aa98b77abce444ba5d32dbeb111c3a8512274e7d9",
  "0005-long-answers": "a453ed21ec03878a7039a1e2beceb76d55a13ca3f397a2167ebf394a336b4028",
  "0006-pinned-tools": "b1ab293a28981f4d1dfa9a3c992487d8ed7eb822e815bdf2cd133ad25d6918f5",
  "0007-model-key-headers": "8b0cb94dbe7f56c45ab889f4f22abb85b818a2c90348d4e2f9462b5caa27143d",
  "0008-refresh-tokens": "e29baa9eab22584dcc161c2547b1f234d02214e23034c2f0f06d13c55f677d27",
  "0009-mails": "ac78d2d05303e9d9782a346f42acd19788a6f9118bdf8c714728eb66584b03c8",
  "0010-pinned-operations": "ee8eef803d83929024f828dca1bf8eb88da4ea5e5b2f2ba67f2e35b51bf7b0f3",
  "0011-listening": "f967f9986d0b18312b2f30716f6511fdee5db2036f6e508b7ed7c9c120cb4b7d",
  "0012-assigned-approvals": "3921191be0bfb994f384ce1a4756d24b4d00e51d41a7bdc42b8d1bd972f3f04d",
  "0013-password-resets": "7f6fa0a0330250cc27c435b2e4ed2bf504b457baddaa7b0e3923a83070ca4c95",
  "0014-reassigned-approvals": "eae87237182e6cea62a94b64f347272906c988251255f5f10ff6e0fa0f0ce4d0",
  "0015-signals": "f4c97f0ae0acc6aabc3742b04f8b067ed7ad431c4d8d7d67d6f3610f61fe8432",
  "0016-mailed-approvals": "d6f52cac456d657a73717a4a376932dc4aacce038bdab4f18af92645b4ef7f49",
  "0017-failure-mails": "7adc2f9770cd434a6f6e386f7499532bae5e1031dc5b7f0e18920fcc9fd23a10",
};

const statementsOf = (text: string): string => text.replaceAll(/^\s*--.*$/gm, "").replaceAll(/\s+/g, " ");
const hashOf = (text: string): string => createHash("sha256").update(statementsOf(text)).digest("hex");

test("a migration is never edited: write another one", () => {
  expect(Object.fromEntries(Object.entries(MIGRATIONS).map(([name, text]) => [name, hashOf(text)]))).toEqual(HASHES);
});

test("what counts is a statement, and not its comment or its lines", () => {
  const text = "create table a (\n  -- Why.\n  id uuid\n);";
  expect(hashOf("create table a (\n  id\n  uuid\n);")).toBe(hashOf(text));
  expect(hashOf("create table a (\n  id text\n);")).not.toBe(hashOf(text));
});

test("every migration is in the list that is carried out, in the order of its numbers", () => {
  const files = filesBelow("server/src/storage/migrations").map((file) => file.replace(/^.*\/|\.ts$/g, ""));
  expect(Object.keys(MIGRATIONS)).toEqual(files.toSorted());
});
