/** Chosen is one more or one less; with shift, all between the last one that was chosen and this one. */
export function chooseIn(
  runs: readonly { id: string }[],
  chosen: ReadonlySet<string>,
  { id, isRange }: { id: string; isRange: boolean },
): ReadonlySet<string> {
  const next = new Set(chosen);
  const isChosen = !chosen.has(id);
  const last = [...chosen].at(-1);
  const [from, to] = [runs.findIndex((run) => run.id === last), runs.findIndex((run) => run.id === id)];
  const ids = isRange && from >= 0 ? runs.slice(Math.min(from, to), Math.max(from, to) + 1).map((run) => run.id) : [id];
  for (const one of ids)
    if (isChosen || isRange) next.add(one);
    else next.delete(one);
  return next;
}
