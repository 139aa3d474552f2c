/** Why a language model did not answer, in words that go on from "the model". */
const WORDS: Readonly<Record<string, string>> = {
  timeout: "did not answer in time",
  unreachable: "could not be reached",
  unauthorized: "refused the key",
  not_found: "does not exist at that address",
  rate_limited: "was asked too often",
  failed: "answered with an error",
  unusable: "answered something else than it was asked for",
  too_often: "was asked too often by your organization",
  over_budget: "has used what it may for now",
  too_large: "would have had to read too large a form",
};

export const llmProblemText = (problem: string): string => WORDS[problem] ?? "did not answer";
