import { expect, test } from "vitest";
import { decodeId, encodeId, kindOfId, newId, timeOfId } from "./ids.ts";

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
