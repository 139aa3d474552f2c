/** Agents with forms, which the sentences of `sentences.fixture.ts` are about. */
import { inputFields, type FormField } from "../../definition/form/form.ts";
import type { JsonObject } from "../../lib/json/json.ts";

export type FixtureAgent = { handle: string; name: string; fields: FormField[] };

const date = (title: string): JsonObject => ({ type: "string", format: "date", title });
const text = (title: string): JsonObject => ({ type: "string", title });
const yes = (title: string): JsonObject => ({ type: "boolean", title });
const integer = (title: string): JsonObject => ({ type: "integer", title });
const list = (title: string): JsonObject => ({ type: "array", items: { type: "string" }, title });
const choice = (title: string, choices: Record<string, string>): JsonObject => ({
  type: "string",
  title,
  oneOf: Object.entries(choices).map(([value, name]) => ({ const: value, title: name })),
});

const agent = (
  handle: string,
  name: string,
  properties: Record<string, JsonObject>,
  required: string[],
): FixtureAgent => ({ handle, name, fields: inputFields({ type: "object", properties, required }) });

export const AGENTS: FixtureAgent[] = [
  agent(
    "sales-report",
    "Sales report",
    {
      from: date("From"),
      to: date("To"),
      region: choice("Region", { emea: "Europe", amer: "America", apac: "Asia Pacific" }),
      format: choice("Format", { pdf: "PDF", xlsx: "Excel", csv: "CSV" }),
      recipients: list("Recipients"),
      include_refunds: yes("Include refunds"),
      note: text("Note"),
    },
    ["from", "to"],
  ),
  agent(
    "refund",
    "Refund a customer",
    {
      order_id: text("Order"),
      amount: { type: "number", title: "Amount" },
      currency: choice("Currency", { EUR: "Euro", USD: "US dollar", GBP: "British pound" }),
      reason: choice("Reason", {
        damaged: "Damaged on arrival",
        late: "Late delivery",
        wrong_item: "Wrong item",
        other: "Other",
      }),
      notify_customer: yes("Notify the customer"),
    },
    ["order_id", "amount"],
  ),
  agent(
    "onboarding",
    "Onboard an employee",
    {
      full_name: text("Full name"),
      email: text("Email"),
      start_date: date("Start date"),
      department: choice("Department", {
        engineering: "Engineering",
        sales: "Sales",
        marketing: "Marketing",
        finance: "Finance",
        people: "People and culture",
      }),
      laptop: choice("Laptop", { mac: "MacBook", thinkpad: "ThinkPad" }),
      remote: yes("Remote"),
      manager: text("Manager"),
    },
    ["full_name", "start_date"],
  ),
  agent(
    "ticket-summary",
    "Summarise support tickets",
    {
      since: date("Since"),
      until: date("Until"),
      severity: choice("Severity", { low: "Low", medium: "Medium", high: "High", critical: "Critical" }),
      tags: list("Tags"),
      limit: integer("Limit"),
      language: choice("Language", { en: "English", de: "German", fr: "French" }),
      include_closed: yes("Include closed tickets"),
    },
    ["since"],
  ),
  agent(
    "invoice-reminder",
    "Send invoice reminders",
    {
      customer: text("Customer"),
      due_before: date("Due before"),
      days_overdue: integer("Days overdue"),
      tone: choice("Tone", { friendly: "Friendly", firm: "Firm", final: "Final notice" }),
      cc: list("Cc"),
      dry_run: yes("Dry run"),
    },
    ["tone"],
  ),
  agent(
    "deploy",
    "Deploy a service",
    {
      service: choice("Service", { api: "api", web: "web", worker: "worker", billing: "billing" }),
      environment: choice("Environment", {
        production: "Production",
        staging: "Staging",
        development: "Development",
      }),
      version: text("Version"),
      replicas: integer("Replicas"),
      run_tests: yes("Run tests"),
      regions: {
        type: "array",
        title: "Regions",
        items: { type: "string", enum: ["eu-west", "us-east", "ap-south"] },
      },
    },
    ["service", "environment"],
  ),
];
