/** How many recipients an organization's mails have a day. Counted before a mail is sent or queued, whatever becomes of it. */
import type { OrganizationId } from "../lib/ids.ts";
import type { Query } from "../storage/database.ts";
import type { Mail } from "./mail.ts";

/** `recipients`: none, or fewer than none to give some back, always fits. */
type Taking = { organizationId: OrganizationId; recipients: number };

/** False: the day's are used up. Either way the row of the day is locked until the transaction ends. */
export async function takeRecipients(
  { clock, recipientsPerDay }: Pick<Mail, "clock" | "recipientsPerDay">,
  query: Query,
  { organizationId, recipients }: Taking,
): Promise<boolean> {
  const { free, starter, pro, enterprise } = recipientsPerDay;
  const rows = await query(
    `with allowed as (
       select id, case plan when 'free' then $4::int when 'starter' then $5::int when 'pro' then $6::int else $7::int end as most
         from organizations where id = $1)
     insert into mail_days as d (organization_id, day, recipients)
     select id, $2::date, $3::int from allowed where $3::int <= most
     on conflict (organization_id, day) do update set recipients = d.recipients + excluded.recipients
       where excluded.recipients <= 0 or d.recipients + excluded.recipients <= (select most from allowed)
     returning recipients`,
    [organizationId, dayOf(clock.now()), recipients, free, starter, pro, enterprise],
  );
  return rows.length > 0;
}

/** In UTC. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
