import { expect, test } from "vitest";
import { ABOVE_ALL_IDS, decodeId, encodeId, idsFrom, kindOfId, newId, timeOfId, type IdRange } from "./ids.ts";

// The example of the TypeID specification 0.3 (valid.json, "uuidv7").
const UUID = "01890a5d-ac96-774b-bcce-b302099a8057";
const TYPE_ID = "run_01h455vb4pex5vsknk084sn02q";

test("a TypeID is what the specification says", () => {
  expect(encodeId("run", UUID as never)).toBe(TYPE_ID);
  expect(decodeId("run", TYPE_ID)).toBe(UUID);
  expect(kindOfId(TYPE_ID)).toBe("run");
});

test("ids come back from their text, and carry their time", () => {
  for (let count = 0; count < 100; count++) {
    const id = newId<"agent">();
    expect(decodeId("agent", encodeId("agent", id))).toBe(id);
    expect(Math.abs(timeOfId(id) - Date.now())).toBeLessThan(10_000);
  }
});

test("the ids that begin with a text are those between two ids", () => {
  const isWithin = (id: string, { least, before }: IdRange): boolean => id >= least && id < before;
  for (let length = 4; length <= TYPE_ID.length; length++) {
    const range = idsFrom("run", TYPE_ID.slice(0, length))!;
    expect(isWithin(UUID, range), `${length}`).toBe(true);
    const ids = Array.from({ length: 20 }, () => newId<"run">());
    for (const id of ids) expect(isWithin(id, range)).toBe(encodeId("run", id).startsWith(TYPE_ID.slice(0, length)));
  }
  const whole = idsFrom("run", TYPE_ID)!;
  expect([whole.least, whole.before]).toEqual([UUID, UUID.replace(/57$/, "58")]);
  expect(idsFrom("run", "run_7zzzzzzzzzzzzzzzzzzzzzzzzz")!.least).toBe(ABOVE_ALL_IDS);
});

test.each(["", "r", "run", "agent_01", "run_8", "run_01H", "run_01l", `${TYPE_ID}0`])(
  "no run's id begins with %o",
  (text) => expect(idsFrom("run", text)).toBeUndefined(),
);

test.each([
  "",
  "run_",
  TYPE_ID.toUpperCase(),
  TYPE_ID.replace("run", "agent"),
  TYPE_ID.slice(0, -1),
  `${TYPE_ID}0`,
  "run_81h455vb4pex5vsknk084sn02q",
  "run_01h455vb4pex5vsknk084sn0il",
  UUID,
  "run_01h455vb4pex5vsknk084sn02\0",
])("%s is no run's id", (text) => {
  expect(decodeId("run", text)).toBeUndefined();
});
