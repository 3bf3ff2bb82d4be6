/** Messages of campaigns to contacts in memory, and in the database. */
import type pg from 'pg';

export const CAMPAIGNS = [1, 2];
export const ENGAGEMENT = ['email_sent', 'email_opened', 'email_clicked'] as const;

interface MailedContact {
  email: string | null;
  engagement: readonly { kind: number; at: Date }[];
  mail: readonly ({ campaign: number; former: boolean } & Record<(typeof ENGAGEMENT)[number], Date | null>)[];
}

/** Mail of campaigns counts as any mail does. */
export const engagementOf = ({ engagement, mail }: MailedContact) => [
  ...engagement,
  ...mail.flatMap((one) =>
    ENGAGEMENT.flatMap((name, kind) => (one[name] === null ? [] : [{ kind, at: one[name] }])),
  ),
];

/** Blocks are this large; between their messages are others, of no campaign, which other contacts opened. */
const BLOCK = 7;

/** Stores messages of campaigns, in the blocks that the snapshot would write. */
export async function storeMail(
  pool: Pick<pg.Pool, 'query'>,
  brandId: number,
  contacts: readonly MailedContact[],
): Promise<void> {
  for (const campaign of CAMPAIGNS) {
    const mail = contacts.flatMap(({ mail: all, email }, index) =>
      all
        .filter((one) => one.campaign === campaign)
        .map((one) => ({ ...one, contact: index + 1, former: one.former || email === null })),
    );
    for (let from = 0; from < mail.length; from += BLOCK) {
      await pool.query(
        `with i as (
           select * from json_to_recordset($2) as i (
             contact int, former boolean, email_sent timestamptz, email_opened timestamptz, email_clicked timestamptz)
         ), k as (
           select i.*, case when i.former then i.contact || '.former@example.com' else c.email_key end as key
           from i join contacts c on c.id = i.contact
         ), f as (
           insert into contact_former_addresses (contact_id, address_key) select contact, key from k where former
           on conflict do nothing
         ), m as (
           insert into messages (account_id, brand_id, channel, class, status, to_address, to_key, contact_id, campaign_id,
             sent_at, opened_at, clicked_at)
           select 0, $3, 'email', 2, 'sent', c.key, c.key, c.contact, c.campaign, sent_at, email_opened, email_clicked
           from k cross join lateral (
             select key, contact, $1::bigint as campaign, email_sent as sent_at
             union all select o.email_key, o.id, null, null from contacts o where o.id = contact % $6 + 1
           ) c (key, contact, campaign, sent_at) order by k.contact
           returning id
         )
         insert into campaign_blocks (campaign_id, n, account_id, channel, first_id, last_id, size, due_at)
         select $1, $4, 0, 'email', min(id), max(id), $5, now() from m`,
        [campaign, JSON.stringify(mail.slice(from, from + BLOCK)), brandId, from, BLOCK, contacts.length],
      );
    }
  }
}
