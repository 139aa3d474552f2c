import { useEffect, useState } from "react";
import { parseJson } from "./json.ts";

/** A value as it was when it had stayed the same for so long. */
export function useLater<Value>(value: Value, ms: number): Value {
  const [settled, setSettled] = useState(value);
  const text = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(parseJson(text) as Value), ms);
    return () => clearTimeout(timer);
  }, [text, ms]);
  return settled;
}
