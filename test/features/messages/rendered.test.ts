// A campaign message is shown with the present values of its contact, or without content if its version is gone.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createContentEngine } from '../../../src/delivery/content/templates/engine.ts';
import { createRenderedContents, type StoredMessage } from '../../../src/features/messages/rendered.ts';
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
  // Looking at the message must not unsubscribe its recipient.
  expect(body.html).toBe('<p>Hi Grace</p>Spring #');
});

it('renders it without values if the contact was deleted', async () => {
  const { body } = await api.request('GET', `/v1/my/messages/${await writeMessage(null)}`);
  expect(body).toMatchObject({ subject: 'For', text: 'Hi ' });
});

it('shows no content if its version was deleted', async () => {
  const id = await writeMessage(null);
  await api.database.pool.query(
    'delete from template_versions where id = (select content_version_id from messages where id = $1)',
    [id],
  );
  const { status, body } = await api.request('GET', `/v1/my/messages/${id}`);
  expect([status, body.html, body.text]).toEqual([200, null, null]);
});

it('is unavailable while nothing can render', async () => {
  const { pool } = api.database;
  const contents = createContentEngine({ threads: 1 });
  await contents.close();
  const render = createRenderedContents({
    ...{ pool, contents, readBrand: () => Promise.resolve({}) },
  });
  const { accountId, brandId } = api;
  // A content with a tag is rendered in a thread.
  const version = await insert(
    `insert into template_versions (template_id, account_id, brand_id, channel, content_hash, subject, html, text)
     values (1, $1, $2, 'email', '\\x02', 'Hi', '{% if contact.id %}Hi{% endif %}', 'Hi')`,
    [accountId, brandId],
  );
  const row = { account_id: accountId, brand_id: brandId, campaign_id: null, flow_id: 1, channel: 'email' };
  const message = { ...row, id: 1, contact_id: null, to_address: null, content_version_id: version };
  const stored = { ...message, html: null, text: null } as unknown as StoredMessage;
  await expect(render(stored)).rejects.toMatchObject({ code: 'unavailable' });
});
