import type { Keyring } from '../../src/platform/secrets/keyring.ts';
import type { TestApi, TestResponse, TestTenant } from './api.ts';
import { insertContacts } from './contacts.ts';
import { insertVerifiedDomain } from './domains.ts';

export const CAMPAIGNS = '/v1/my/campaigns';

/** Gives a tenant what it needs to send a campaign: a postal address, a verified domain and a sender address there. */
export async function prepareSender(
  { database }: Pick<TestApi, 'database'>,
  tenant: Pick<TestTenant, 'accountId' | 'brandId'>,
  domain: string,
  keyring?: Keyring | null,
): Promise<void> {
  await insertVerifiedDomain(database, tenant, domain, { keyring });
  await database.pool.query('update accounts set email_from_email = $2, email_from_name = $3 where id = $1', [
    tenant.accountId,
    `news@${domain}`,
    'Acme',
  ]);
  await database.pool.query(`update brands set physical_address = '1 Main St' where id = $1`, [
    tenant.brandId,
  ]);
}

/** Tries to send campaigns until one is sent: compiling the first content takes long, on a busy machine too long. */
export async function warmUp(api: TestApi, listId: number): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const id = await readyCampaign(api, listId, { name: 'Warm up' });
    if ((await act(api, id, 'send')).status === 200) return;
  }
  throw new Error('no campaign can be sent');
}

/** Creates a list with subscribed contacts. */
export async function filledList(
  { database: { pool } }: Pick<TestApi, 'database'>,
  tenant: Pick<TestTenant, 'accountId' | 'brandId'>,
  count: number,
): Promise<{ listId: number; contactIds: number[] }> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into lists (account_id, brand_id, name) values ($1, $2, 'Everyone') returning id`,
    [tenant.accountId, tenant.brandId],
  );
  const listId = rows[0]?.id ?? 0;
  const contactIds = await insertContacts(pool, tenant, count, `of-list-${listId}-`);
  await pool.query('insert into list_members (list_id, contact_id) select $1, unnest($2::bigint[])', [
    listId,
    contactIds,
  ]);
  return { listId, contactIds };
}

export const content = { subject: 'Hi {{ contact.first_name }}', body: '<p>Spring sale</p>' };

/** Creates a campaign that can be sent. */
export async function readyCampaign(
  api: Pick<TestApi, 'request'>,
  listId: number,
  more: Record<string, unknown> = {},
): Promise<number> {
  const { status, body, text } = await api.request('POST', CAMPAIGNS, {
    body: {
      name: 'Spring sale',
      trigger_attributes: { contact_list_id: listId },
      template_attributes: content,
      ...more,
    },
  });
  if (status !== 201) throw new Error(text);
  return Number(body.id);
}

export const act = (
  api: Pick<TestApi, 'request'>,
  id: number,
  action: string,
  body?: unknown,
): Promise<TestResponse> =>
  api.request('POST', `${CAMPAIGNS}/${id}/${action}`, body === undefined ? {} : { body });

export const change = (api: TestApi, id: number, body: unknown): Promise<TestResponse> =>
  api.request('PATCH', `${CAMPAIGNS}/${id}`, { body });

export const show = (api: TestApi, id: number): Promise<TestResponse> =>
  api.request('GET', `${CAMPAIGNS}/${id}`);

/** The names of the fields in an error. */
export const fieldsOf = ({ body }: { body: unknown }): string[] =>
  Object.keys((body as { validation_errors?: object }).validation_errors ?? {}).sort();

/** A recipient in the state in which the snapshot and the senders leave it. */
export interface TestRecipient {
  status: string;
  sent?: boolean;
  opened?: boolean;
  clicked?: boolean;
  /** The reason in `failure`. */
  reason?: string;
  address?: string;
  contactId?: number;
  variant?: number;
}

/**
 * Writes recipients of a campaign like the snapshot does, in blocks of `blockSize`, and makes it `sending`.
 * @returns the ids of the messages
 */
export async function writeRecipients(
  { database: { pool } }: TestApi,
  campaignId: number,
  recipients: readonly TestRecipient[],
  blockSize = 1_000,
): Promise<number[]> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into messages (account_id, brand_id, channel, class, status, campaign_id, contact_id, to_address, to_key,
       sent_at, delivered_at, opened_at, clicked_at, failure, variant)
     select c.account_id, c.brand_id, c.channel, 2, r.status, c.id, r."contactId", r.address, r.address,
       case when r.sent then now() end, case when r.status = 'delivered' then now() end,
       case when r.opened then now() end, case when r.clicked then now() end,
       case when r.reason is not null then jsonb_build_object('code', r.reason, 'message', r.reason) end, r.variant
     from campaigns c, json_to_recordset($2) as r (status text, sent boolean, opened boolean,
       clicked boolean, reason text, address text, "contactId" bigint, variant smallint, n bigint)
     where c.id = $1 order by r.n returning id`,
    [
      campaignId,
      JSON.stringify(recipients.map((recipient, n) => ({ address: `r${n}@example.com`, n, ...recipient }))),
    ],
  );
  const ids = rows.map((row) => row.id);
  await pool.query(
    `with b as (
       select ((n - 1) / $3)::int as n, min(id) as first_id, max(id) as last_id, count(*) as size
       from unnest($2::bigint[]) with ordinality as i (id, n) group by 1)
     insert into campaign_blocks (campaign_id, n, account_id, channel, first_id, last_id, size, due_at, closed_at, claim_epoch)
     select c.id, b.n, c.account_id, c.channel, b.first_id, b.last_id, b.size, now(), now(), 1 from b, campaigns c where c.id = $1`,
    [campaignId, ids, blockSize],
  );
  await pool.query(
    `update campaigns set audience_count = $2::int, next_block = 1 + ($2::int - 1) / $3::int, phase = 'sending',
       snapshot_at = now(), sending_at = now() where id = $1`,
    [campaignId, ids.length, blockSize],
  );
  return ids;
}
