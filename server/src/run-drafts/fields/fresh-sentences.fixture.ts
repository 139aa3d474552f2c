/**
 * Forty sentences by one who had read the agents and no file of the parser, with today = Wednesday, 25 November 2026 in Berlin.
 * A `?` before the agent: nobody named it, so it is to be found. A field that is not listed is to stay empty.
 */
import type { Sentence } from "./sentences.fixture.ts";

export const FRESH_SENTENCES: Sentence[] = [
  [
    "sales-report",
    "Could you pull the numbers for October for Asia? csv is fine",
    { from: "2026-10-01", to: "2026-10-31", region: "apac", format: "csv" },
  ],
  [
    "sales-report",
    "EMEA sales, 15 Dec 2025 to 10 Jan 2026, spreadsheet please, and leave refunds out",
    { from: "2025-12-15", to: "2026-01-10", region: "emea", format: "xlsx", include_refunds: false },
  ],
  [
    "sales-report",
    "sales Q2 thru Q3 this year, pdf, send it to maria@acme.io and tom.lee@acme.io",
    { from: "2026-04-01", to: "2026-09-30", format: "pdf", recipients: ["maria@acme.io", "tom.lee@acme.io"] },
  ],
  [
    "sales-report",
    "I need the first half of 2026 in Eurpoe, with refunds included",
    { from: "2026-01-01", to: "2026-06-30", region: "emea", include_refunds: true },
  ],
  ["?sales-report", "yesterday's sales for the americas", { from: "2026-11-24", to: "2026-11-24", region: "amer" }],
  [
    "sales-report",
    'report from 2026-08 until 2026-10 as excel with a note saying "for the board meeting"',
    { from: "2026-08-01", to: "2026-10-31", format: "xlsx", note: "for the board meeting" },
  ],
  [
    "sales-report",
    "week of 9 November, no refunds, mail to ops@acme.io",
    { from: "2026-11-09", to: "2026-11-15", include_refunds: false, recipients: ["ops@acme.io"] },
  ],
  [
    "?sales-report",
    "sales report covering the second half of September, Excel pls",
    { from: "2026-09-16", to: "2026-09-30", format: "xlsx" },
  ],
  [
    "refund",
    "refund order 88213 in full to the customer, €49.90, it arrived broken",
    { order_id: "88213", amount: 49.9, currency: "EUR", reason: "damaged" },
  ],
  [
    "?refund",
    "give back 120 dollars on order A-2291, delivery came too late, no need to tell the customer",
    { order_id: "A-2291", amount: 120, currency: "USD", reason: "late", notify_customer: false },
  ],
  [
    "refund",
    "Order #5531-B: refund £15, they got the wrong item. Please let the customer know.",
    { order_id: "5531-B", amount: 15, currency: "GBP", reason: "wrong_item", notify_customer: true },
  ],
  ["refund", "refund 1,250.00 EUR for ORD-77120", { order_id: "ORD-77120", amount: 1250, currency: "EUR" }],
  [
    "?refund",
    "customer wants 35 quid back for order 90417, parcel was two weeks late",
    { order_id: "90417", amount: 35, currency: "GBP", reason: "late" },
  ],
  [
    "refund",
    "please refund 20 euros on 66120 and don't email them",
    { order_id: "66120", amount: 20, currency: "EUR", notify_customer: false },
  ],
  [
    "refund",
    "pay back $1.5k for order XK-9 - damaged in transit",
    { order_id: "XK-9", amount: 1500, currency: "USD", reason: "damaged" },
  ],
  [
    "onboarding",
    "Priya Raman joins engineering on 1 December, MacBook, works remotely",
    { full_name: "Priya Raman", start_date: "2026-12-01", department: "engineering", laptop: "mac", remote: true },
  ],
  [
    "?onboarding",
    "onboard Jonas Weber (jonas.weber@acme.io) in finance, starting next Monday",
    { full_name: "Jonas Weber", email: "jonas.weber@acme.io", department: "finance", start_date: "2026-11-30" },
  ],
  [
    "onboarding",
    "New hire: Aisha Khan, marketing, first day Jan 4, reports to Daniel Ortiz, thinkpad please",
    {
      full_name: "Aisha Khan",
      department: "marketing",
      start_date: "2027-01-04",
      manager: "Daniel Ortiz",
      laptop: "thinkpad",
    },
  ],
  [
    "onboarding",
    "set up Lucy O'Brien for the sales team from December 14th; she'll be in the office, not remote",
    { full_name: "Lucy O'Brien", department: "sales", start_date: "2026-12-14", remote: false },
  ],
  [
    "?onboarding",
    "we have a new employee, Mark Liu, starting on 2027-02-01 in HR. his manager is Sofia Rossi",
    { full_name: "Mark Liu", start_date: "2027-02-01", department: "people", manager: "Sofia Rossi" },
  ],
  [
    "onboarding",
    "Tomás García starts the day after tomorrow in engineering with a mac",
    { full_name: "Tomás García", start_date: "2026-11-27", department: "engineering", laptop: "mac" },
  ],
  [
    "onboarding",
    "onboard Eva Lindqvist, email eva@acme.io, start in two weeks, works from the office",
    { full_name: "Eva Lindqvist", email: "eva@acme.io", start_date: "2026-12-09", remote: false },
  ],
  [
    "ticket-summary",
    "summarise tickets since Monday, only critical ones",
    { since: "2026-11-23", severity: "critical" },
  ],
  [
    "ticket-summary",
    "tickets between 1 and 15 November tagged billing and login, in German",
    { since: "2026-11-01", until: "2026-11-15", tags: ["billing", "login"], language: "de" },
  ],
  [
    "?ticket-summary",
    "what came in from support since last Friday? at most 50 tickets, high severity",
    { since: "2026-11-20", limit: 50, severity: "high" },
  ],
  [
    "ticket-summary",
    "top 20 tickets of this month, including closed, in french",
    { since: "2026-11-01", until: "2026-11-30", limit: 20, include_closed: true, language: "fr" },
  ],
  [
    "ticket-summary",
    "since 3 days ago, without the closed ones, tags: outage, mobile",
    { since: "2026-11-22", include_closed: false, tags: ["outage", "mobile"] },
  ],
  [
    "ticket-summary",
    "summary of the medium severity tickets, weekend of 14 November",
    { since: "2026-11-14", until: "2026-11-15", severity: "medium" },
  ],
  [
    "ticket-summary",
    "support tickets from mid-October until today, limit 100",
    { since: "2026-10-15", until: "2026-11-25", limit: 100 },
  ],
  [
    "?ticket-summary",
    "Summarize the tickets customers sent us in the first week of November, in German please",
    { since: "2026-11-01", until: "2026-11-07", language: "de" },
  ],
  [
    "invoice-reminder",
    "remind Globex about the invoices due before 1 November, friendly tone",
    { customer: "Globex", due_before: "2026-11-01", tone: "friendly" },
  ],
  [
    "?invoice-reminder",
    "send a final notice to Initech, more than 60 days overdue, cc legal@acme.io",
    { customer: "Initech", tone: "final", days_overdue: 60, cc: ["legal@acme.io"] },
  ],
  [
    "invoice-reminder",
    'firm reminder for "Smith & Sons" please, just a dry run',
    { customer: "Smith & Sons", tone: "firm", dry_run: true },
  ],
  [
    "invoice-reminder",
    "polite nudge to everyone 14 days overdue, copy anna@acme.io and finance@acme.io",
    { tone: "friendly", days_overdue: 14, cc: ["anna@acme.io", "finance@acme.io"] },
  ],
  [
    "?invoice-reminder",
    "chase Umbrella Corp for invoices that are 3 weeks past due, be strict",
    { customer: "Umbrella Corp", days_overdue: 21, tone: "firm" },
  ],
  [
    "invoice-reminder",
    "final notices for anything due before the end of October, no dry run this time",
    { tone: "final", due_before: "2026-10-31", dry_run: false },
  ],
  [
    "deploy",
    "deploy billing 2.14.0 to staging, skip the tests",
    { service: "billing", version: "2.14.0", environment: "staging", run_tests: false },
  ],
  [
    "?deploy",
    "ship the worker to prod with 4 replicas, eu-west and us-east",
    { service: "worker", environment: "production", replicas: 4, regions: ["eu-west", "us-east"] },
  ],
  [
    "deploy",
    "roll out web v3.1 to every region but ap-south, production, run the tests first",
    {
      service: "web",
      version: "v3.1",
      environment: "production",
      regions: ["eu-west", "us-east"],
      run_tests: true,
    },
  ],
  [
    "?deploy",
    "put api version 1.9.2-rc1 on the dev environment, 2 replicas",
    { service: "api", version: "1.9.2-rc1", environment: "development", replicas: 2 },
  ],
];
