/** The element of index.html with this id and type; the page is broken without it. */
export function element<Type extends HTMLElement>(id: string, type: new () => Type): Type;
export function element(id: string): HTMLElement;
export function element(id: string, type: new () => HTMLElement = HTMLElement): HTMLElement {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`index.html has no ${type.name} with the id ${id}`);
}
