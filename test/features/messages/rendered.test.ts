import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type TestApi, startTestApi } from '../../support/api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://carillon.test' } });
});
afterAll(() => api.close());

async function insert(sql: string, values: unknown[]): Promise<number> {
  const { rows } = await api.database.pool.query<{ id: number }>(`${sql} returning id`, values);
  return rows[0]?.id ?? 0;
}

/** A message of a campaign, as the snapshot writes it. */
async function writeMessage(contactId: number | null): Promise<number> {
  const { accountId, brandId } = api;
  const campaign = await insert('insert into campaigns (account_id, brand_id, name) values ($1, $2, $3)', [
    accountId,
    brandId,
    'Spring',
  ]);
  const version = await insert(
    `insert into template_versions (template_id, account_id, brand_id, channel, content_hash, subject, html, text)
     values ($3, $1, $2, 'email', '\\x01', 'For {{ contact.first_name }}', $4, 'Hi {{ contact.first_name }}')`,
    [
      accountId,
      brandId,
      campaign,
      '<p>Hi {{ contact.first_name }}</p>{{ campaign.name }} {{ unsubscribe_url }}',
    ],
  );
  return insert(
    `insert into messages (account_id, brand_id, channel, class, status, test, to_address, to_key, campaign_id, contact_id,
       content_version_id)
     values ($1, $2, 'email', 2, 'sent', false, 'ada@example.com', 'ada@example.com', $3, $4, $5)`,
    [accountId, brandId, campaign, contactId, version],
  );
}

it('renders a message of a campaign with the present values of its contact', async () => {
  const { body: contact } = await api.request('POST', '/v1/my/contacts', {
    body: { email: 'ada@example.com', first_name: 'Ada' },
  });
  const id = await writeMessage(Number(contact.id));
  await api.request('PATCH', `/v1/my/contacts/${String(contact.id)}`, { body: { first_name: 'Grace' } });
  const { status, body } = await api.request('GET', `/v1/my/messages/${id}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ subject: 'For Grace', text: 'Hi Grace' });
  expect(body.html).toMatch(/^<p>Hi Grace<\/p>Spring https:\/\/carillon\.test\/unsubscribe\/\S+$/);
});

it('renders it without values if the contact was deleted', async () => {
  const { body } = await api.request('GET', `/v1/my/messages/${await writeMessage(null)}`);
  expect(body).toMatchObject({ subject: 'For', text: 'Hi ' });
});
