/** The first owner, by the setup link: its token is in the fragment, which browsers do not send. */
import { Refused, send } from "../api/graphql.ts";
import { element } from "../element.ts";
import { showLines } from "./start.ts";

const SETUP = "mutation Setup($input: SetupInput!) { setup(input: $input) { __typename } }";
const FIELDS = ["organization", "name", "email", "password"] as const;
type Owner = Record<(typeof FIELDS)[number], string>;

/** Shows the form when the address carries a token, also one that is pasted into an open page. */
export function watchSetupLink(): void {
  const form = element("setup-form", HTMLFormElement);
  let isSending = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (isSending) return;
    isSending = true;
    void setUp(form).finally(() => (isSending = false));
  });
  addEventListener("hashchange", showForm);
  showForm();
}

const tokenInAddress = (): string | null => new URLSearchParams(location.hash.slice(1)).get("setup");

function showForm(): void {
  if (!tokenInAddress()) return;
  element("setup").hidden = false;
  element("done").hidden = true;
  element("organization").focus();
}

async function setUp(form: HTMLFormElement): Promise<void> {
  const owner = Object.fromEntries(FIELDS.map((name) => [name, inputOf(name).value])) as Owner;
  const local = problemsInBrowser();
  showProblems("", local);
  if (local.size > 0) return;
  try {
    await send(SETUP, { input: { token: tokenInAddress(), ...owner } });
    showDone(form, owner);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    showProblems(error.message, error.fields);
  }
}

const inputOf = (name: (typeof FIELDS)[number]): HTMLInputElement => element(name, HTMLInputElement);

/** What the browser itself finds, so that a slip costs no round trip. */
const problemsInBrowser = (): Map<string, string> =>
  new Map(
    FIELDS.map(inputOf)
      .filter((input) => !input.validity.valid)
      .map((input) => [input.name, sentenceFor(input)]),
  );

function sentenceFor({ validity, minLength, validationMessage }: HTMLInputElement): string {
  if (validity.valueMissing) return "must not be empty";
  if (validity.tooShort) return `must have at least ${minLength} characters`;
  if (validity.typeMismatch) return "must be an e-mail address";
  return validationMessage;
}

/** Each problem at its field; the sentence for the whole only when no field is to blame. Focus goes to the first. */
function showProblems(message: string, fields: Map<string, string>): void {
  for (const name of FIELDS) showProblem(inputOf(name), fields.get(name));
  const ofForm = element("setup-problem");
  const first = FIELDS.find((name) => fields.has(name));
  ofForm.hidden = first !== undefined || message === "";
  ofForm.textContent = ofForm.hidden ? "" : message;
  if (first !== undefined) element(first).focus();
}

function showProblem(input: HTMLInputElement, problem: string | undefined): void {
  const id = `${input.id}-problem`;
  document.getElementById(id)?.remove();
  const hint = document.getElementById(`${input.id}-hint`) === null ? [] : [`${input.id}-hint`];
  const described = problem === undefined ? hint : [...hint, id];
  input.setAttribute("aria-invalid", String(problem !== undefined));
  if (described.length > 0) input.setAttribute("aria-describedby", described.join(" "));
  else input.removeAttribute("aria-describedby");
  if (problem === undefined) return;
  const line = document.createElement("p");
  line.id = id;
  line.className = "problem";
  line.textContent = `${input.labels?.[0]?.textContent ?? input.name} ${problem}`;
  input.after(line);
}

function showDone(form: HTMLFormElement, owner: Owner): void {
  form.reset();
  history.replaceState(null, "", location.pathname + location.search);
  element("setup").hidden = true;
  element("owner").textContent = `${owner.name} (${owner.email})`;
  element("owned").textContent = owner.organization;
  showLines(owner.email);
  const done = element("done");
  done.hidden = false;
  done.focus();
}
