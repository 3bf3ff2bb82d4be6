// The API refuses times that PostgreSQL cannot read, in filters and in bodies.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
let contactId: number;
beforeAll(async () => {
  api = await startTestApi();
  const body = { email: 'ada@example.test' };
  contactId = Number((await api.request('POST', '/v1/my/contacts', { body })).body.id);
});
afterAll(() => api.close());

const unreadable = [
  '0000-01-01T00:00:00Z',
  '0000-12-31T23:59:59-01:00',
  '2026-01-01T00:00:00+23:00',
  '0001-01-01T00:00:00+01:00',
  '9999-12-31T23:59:59-01:00',
];

const filters = [
  ['contacts', 'created_after'],
  ['contacts', 'created_before'],
  ['messages', 'created_after'],
  ['events', 'created_after'],
  ['events', 'created_before'],
] as const;

it.each(filters)('refuses times in GET /%s that PostgreSQL cannot read: %s', async (resource, name) => {
  for (const time of unreadable) {
    const path = `/v1/my/${resource}?${name}=${encodeURIComponent(time)}`;
    const { status, body } = await api.request('GET', path);
    expect([time, status, Object.keys(body.validation_errors ?? {})]).toEqual([time, 422, [name]]);
  }
});

it('refuses them in the timeline of a contact', async () => {
  for (const time of unreadable) {
    const path = `/v1/my/contacts/${contactId}/timeline?before=${encodeURIComponent(time)}`;
    expect([time, (await api.request('GET', path)).status]).toEqual([time, 422]);
  }
});

it('refuses them in a suppression', async () => {
  for (const time of unreadable) {
    const body = { email: 'late@example.test', expires_at: time };
    expect([time, (await api.request('POST', '/v1/my/suppressions', { body })).status]).toEqual([time, 422]);
  }
});

it('refuses them in the filters of an export', async () => {
  for (const time of unreadable) {
    const body = { resource: 'contacts', filters: { created_after: time } };
    expect([time, (await api.request('POST', '/v1/my/exports', { body })).status]).toEqual([time, 422]);
  }
});
