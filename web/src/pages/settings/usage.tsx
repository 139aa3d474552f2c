/** The organization's limits and its usage, day by day. */
import { useEffect, useEffectEvent, useMemo, useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import {
  ModelUseDocument,
  PlanAndRateDocument,
  UsageDocument,
  type ModelUseQuery,
  type UsageQuery,
} from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { Loading } from "../../components/loading.tsx";
import { NoPermission, Problem, TryAgain } from "../../components/notice.tsx";
import { countText } from "../../lib/counts.ts";
import { costsText, costText, isCostly } from "../../lib/model-usage.ts";
import { ReadAgain } from "./read-again.tsx";
import { COUNTED, type PartProps, type SettingsSearch } from "./part.ts";
import settings from "./settings.module.css";
import classes from "./usage.module.css";

type Day = NonNullable<UsageQuery["usage"]>[number];
type Kind = "requests" | (typeof COUNTED)[number];

const DAYS = 30;
const WORDS: Record<Kind, string> = { requests: "Requests", runs: "Runs", steps: "Steps", modelTokens: "Model tokens" };
const KINDS: readonly Kind[] = ["requests", ...COUNTED];

const counted = new Intl.NumberFormat(undefined);
/** A day of UTC, as the server counts. */
const dayFormat = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
const dayText = (date: string): string => dayFormat.format(Date.parse(date));

export function Usage({ caller, search: { show } }: PartProps) {
  const [asked, readPlan] = useRead({
    query: PlanAndRateDocument,
    requestPolicy: "cache-and-network",
  });
  const { data, error } = asked;
  const mayRead = caller.may("admin");
  const [usage, readUsage] = useRead({
    query: UsageDocument,
    variables: { days: DAYS },
    pause: !mayRead,
    requestPolicy: "cache-and-network",
  });
  const readAgain = (): void => {
    readPlan();
    if (mayRead) readUsage();
  };
  const refused = error ?? usage.error;
  const { organization, rateLimit } = data ?? {};
  return (
    <div className={settings["part"]}>
      {refused && <Problem refusal={refusalIn(refused)} action={<TryAgain onClick={readAgain} />} />}
      {rateLimit && organization ? (
        <div className={settings["head"]}>
          <dl className={settings["facts"]}>
            <div>
              <dt>Plan</dt>
              <dd>{organization.plan}</dd>
            </div>
            <div>
              <dt>Rate limit</dt>
              <dd>
                {rateLimit.limit === null ? "none" : `${counted.format(rateLimit.limit)} requests in any 60 seconds`}
              </dd>
            </div>
            {rateLimit.remaining !== null && (
              <div>
                <dt>Left now</dt>
                <dd>{counted.format(rateLimit.remaining)}</dd>
              </div>
            )}
          </dl>
        </div>
      ) : (
        !error && <Loading label="Loading usage" lines={5} />
      )}
      {(data || error) && (
        <section className={settings["section"]} aria-labelledby="usage">
          <h2 id="usage">Last {DAYS} days</h2>
          {!mayRead && <NoPermission what="see the usage" who="Owners and admins" role={caller.role} />}
          {mayRead && !usage.data && !usage.error && <Loading label="Loading usage" lines={5} />}
          {usage.data?.usage && <Days days={usage.data.usage.toReversed()} kind={show ?? "requests"} />}
          {usage.data?.usage && show === "modelTokens" && <AgentUse days={DAYS} reading={usage.data} />}
        </section>
      )}
      <ReadAgain asked={{ ...asked, data: mayRead ? usage.data : data }} readAgain={readAgain} caller={caller} />
    </div>
  );
}

/** `days`: the oldest first. */
function Days({ days, kind }: { days: readonly Day[]; kind: Kind }) {
  const most = Math.max(...days.map((day) => day[kind] + refusedOf(day, kind)));
  const sum = days.reduce((so, day) => so + day[kind], 0);
  const refused = days.reduce((so, day) => so + refusedOf(day, kind), 0);
  return (
    <>
      <nav className={classes["kinds"]} aria-label="What is counted">
        {KINDS.map((one) => (
          <Link
            key={one}
            to="/settings/$part"
            params={{ part: "usage" }}
            search={searchOf(one)}
            aria-current={one === kind ? "page" : undefined}
            activeOptions={{ exact: true }}
          >
            {WORDS[one]}
          </Link>
        ))}
      </nav>
      <p>
        {sum === 0 ? "No" : counted.format(sum)} {WORDS[kind].toLowerCase()}
        {refused > 0 && `, and ${counted.format(refused)} that the rate limit refused`}
        {kind === "requests" && (
          <span className="dim"> · with API keys and access tokens; the web UI does not count</span>
        )}
      </p>
      {most > 0 && <Chart days={days} kind={kind} most={most} />}
      <div className="visually-hidden">
        <table>
          <caption>{WORDS[kind]} by day</caption>
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col">{WORDS[kind]}</th>
              {kind === "requests" && <th scope="col">Refused</th>}
            </tr>
          </thead>
          <tbody>
            {days.map((day) => (
              <tr key={day.date}>
                <th scope="row">{day.date}</th>
                <td>{day[kind]}</td>
                {kind === "requests" && <td>{day.refused}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

const refusedOf = (day: Day, kind: Kind): number => (kind === "requests" ? day.refused : 0);

/** `most`: of one day, more than 0. */
function Chart({ days, kind, most }: { days: readonly Day[]; kind: Kind; most: number }) {
  const share = (count: number): string => `${(count / most) * 100}%`;
  return (
    <figure className={classes["chart"]} aria-hidden="true">
      <div className={classes["ends"]}>
        <span>Peak: {counted.format(most)} a day</span>
      </div>
      <div className={classes["bars"]}>
        {days.map((day) => (
          <div key={day.date} className={classes["day"]} title={titleOf(day, kind)}>
            {refusedOf(day, kind) > 0 && (
              <div className={classes["refused"]} style={{ height: share(refusedOf(day, kind)) }} />
            )}
            <div className={classes[day[kind] > 0 ? "used" : "none"]} style={{ height: share(day[kind]) }} />
          </div>
        ))}
      </div>
      <div className={classes["ends"]}>
        <span>{days[0] && dayText(days[0].date)}</span>
        <span>today, UTC</span>
      </div>
    </figure>
  );
}

const searchOf = (kind: Kind): SettingsSearch => (kind === "requests" ? {} : { show: kind });

const titleOf = (day: Day, kind: Kind): string =>
  `${dayText(day.date)}: ${counted.format(day[kind])} ${WORDS[kind].toLowerCase()}${
    kind === "requests" && day.refused > 0 ? `, ${counted.format(day.refused)} refused` : ""
  }`;

type ModelDay = NonNullable<ModelUseQuery["usage"]>[number];
type Use = NonNullable<ModelDay["agents"]>[number];

/** The use of language models by agent, and what each day cost. `reading`: read again whenever the page is. */
function AgentUse({ days, reading }: { days: number; reading: object }) {
  const [{ data, error }, readAgain] = useRead({
    query: ModelUseDocument,
    variables: { days },
    requestPolicy: "cache-and-network",
  });
  const [first] = useState(reading);
  const readWithPage = useEffectEvent(readAgain);
  useEffect(() => {
    if (reading !== first) readWithPage();
  }, [reading, first]);
  const used = useMemo(() => byAgent(data?.usage ?? []), [data]);
  if (error) return <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />;
  if (!data?.usage) return <Loading label="Loading the use of models" lines={3} />;
  if (used.length === 0) return null;
  const costly = data.usage.filter(isCostly);
  return (
    <>
      <Table caption="By agent" head={["Agent", "Tokens", "Cost"]}>
        {used.map(([id, uses]) => (
          <tr key={id}>
            <th scope="row">
              <Agent agent={uses[0]!.agent} />
            </th>
            <td>{countText(tokensOf(uses))}</td>
            <td>{costsText(uses) || <span className="dim">no sum</span>}</td>
          </tr>
        ))}
      </Table>
      <Table caption="By model connection" head={["Connection", "Tokens", "Cost"]}>
        {byConnection(data.usage).map(([id, uses]) => (
          <tr key={id}>
            <th scope="row">
              <code>{uses[0]!.name}</code> {uses[0]!.isOperators && <span className="dim">the operator's</span>}{" "}
              {uses[0]!.project && <span className="dim">{uses[0]!.project.name}</span>}
            </th>
            <td>{countText(tokensOf(uses))}</td>
            <td>{costsText(uses) || <span className="dim">no prices</span>}</td>
          </tr>
        ))}
      </Table>
      {costly.length > 0 && (
        <Table caption="Cost by day, in UTC" head={["Day", "Cost"]}>
          {costly.map(({ date, modelCost, modelCostCurrency }) => (
            <tr key={date}>
              <th scope="row">{date}</th>
              <td>{costText(modelCost, modelCostCurrency) ?? <span className="dim">no sum</span>}</td>
            </tr>
          ))}
        </Table>
      )}
      {data.usage.some(({ modelCost }) => modelCost === null) && (
        <p className="dim">A day has no sum if its costs have several currencies, or a question had no price.</p>
      )}
    </>
  );
}

type TableProps = { caption: string; head: readonly string[]; children: ReactNode };

const Table = ({ caption, head, children }: TableProps) => (
  <table className={classes["used-by"]}>
    <caption>{caption}</caption>
    <thead>
      <tr>
        {head.map((word) => (
          <th key={word} scope="col">
            {word}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
);

const Agent = ({ agent }: Pick<Use, "agent">) =>
  agent ? (
    <Link to="/agents/$agentId" params={{ agentId: agent.id }} search={{}} className="link">
      {agent.name}
    </Link>
  ) : (
    <span className="dim">tests of models, and sentences before an agent is known</span>
  );

const tokensOf = (uses: readonly { tokens: number }[]): number => uses.reduce((sum, { tokens }) => sum + tokens, 0);

/** Those with the most tokens first. */
function mostFirst<Used extends { tokens: number }>(groups: Map<string, Used[]>): [id: string, uses: Used[]][] {
  return [...groups].toSorted(([, a], [, b]) => tokensOf(b) - tokensOf(a));
}

const byAgent = (days: readonly ModelDay[]) =>
  mostFirst(
    Map.groupBy(
      days.flatMap(({ agents }) => agents ?? []),
      ({ agent }) => agent?.id ?? "",
    ),
  );

const byConnection = (days: readonly ModelDay[]) =>
  mostFirst(
    Map.groupBy(
      days.flatMap(({ connections }) => connections ?? []),
      ({ name, isOperators, project }) => `${name} ${isOperators} ${project?.id}`,
    ),
  );
