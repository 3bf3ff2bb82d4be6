// The check of a campaign finds what its send would refuse, with changes that are not saved, and changes nothing.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import {
  act,
  content,
  filledList,
  prepareSender,
  readyCampaign,
  show,
  warmUp,
} from '../../support/campaign-requests.ts';

let api: TestApi;
let listId: number;
beforeAll(async () => {
  api = await startTestApi({ env: { APPROVAL_TIERS: 'trusted', PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  ({ listId } = await filledList(api, api, 3));
  await warmUp(api, listId);
}, 240_000);
afterAll(() => api.close());

const check = (id: number, body?: unknown) => act(api, id, 'check', body);
const fieldsOf = ({ body }: { body: unknown }) =>
  Object.keys((body as { errors?: object }).errors ?? {}).sort();
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();

describe('POST /campaigns/{id}/check', () => {
  it('finds nothing in a campaign that can be sent, and leaves it as it is', async () => {
    const id = await readyCampaign(api, listId);
    const before = (await show(api, id)).body;
    const { status, body } = await check(id, { template_attributes: { subject: 'New' } });
    expect([status, body]).toEqual([
      200,
      { problems: [], errors: {}, sender: '"Acme" <news@acme.test>', needs_approval: false },
    ]);
    expect((await show(api, id)).body).toEqual(before);
    expect((await act(api, id, 'send')).status).toBe(200);
  });

  it('finds all problems of a send, in what is saved and in the changes', async () => {
    const empty = await filledList(api, api, 0);
    const id = await readyCampaign(api, listId, { data: { options: { send_at_local_time: true } } });
    const checked = await check(id, {
      trigger_attributes: { contact_list_id: empty.listId },
      template_attributes: { subject: null, body: '<p>{{ oops', from_email: 'me@elsewhere.test' },
    });
    expect(fieldsOf(checked)).toEqual([
      'scheduled_at',
      'template_attributes.body',
      'template_attributes.from_email',
      'template_attributes.subject',
      'trigger_attributes.contact_list_id',
    ]);
    expect(checked.body.problems).toEqual(
      Object.entries(checked.body.errors as unknown as Record<string, string[]>).flatMap(
        ([field, messages]) =>
          messages.map((message) => ({ field, code: 'validation_error', message, severity: 'error' })),
      ),
    );
    const shown = (await show(api, id)).body;
    expect(shown).toMatchObject({ template: content, trigger: { contact_list_id: listId } });
    expect(fieldsOf(await check(id, { scheduled_at: tomorrow() }))).toEqual([]);
  });

  it('says whom it is from, also if it cannot be sent', async () => {
    const id = await readyCampaign(api, listId);
    const senderWith = async (template_attributes: object) => {
      const { body } = await check(id, {
        template_attributes,
        trigger_attributes: { contact_list_id: null },
      });
      expect(body.errors).not.toEqual({});
      return body.sender;
    };
    expect(await senderWith({})).toBe('"Acme" <news@acme.test>');
    expect(await senderWith({ from_name: 'Shop', from_email: 'me@elsewhere.test' })).toBe(
      '"Shop" <me@elsewhere.test>',
    );
    await api.database.pool.query(`update domains set status = 'failed'`);
    expect(await senderWith({})).toMatch(/^"Acme" <sandbox-\d+@/);
    await api.database.pool.query(`update domains set status = 'verified'`);
  });

  it('names a list that another brand has, as a change to it would', async () => {
    const id = await readyCampaign(api, listId);
    const others = await filledList(api, api.other, 1);
    const checked = await check(id, { trigger_attributes: { contact_list_id: others.listId } });
    expect([checked.status, fieldsOf(checked)]).toEqual([200, ['trigger_attributes.contact_list_id']]);
  });

  it('keeps no template of a variant', async () => {
    const variants = [
      { subject: 'One', weight: 50 },
      { subject: 'Two', weight: 50 },
    ];
    const id = await readyCampaign(api, listId);
    const checked = await check(id, { data: { options: { ab: { variants } } } });
    expect(checked.body).toMatchObject({ errors: {} });
    const { rows } = await api.database.pool.query('select from templates where campaign_id = $1', [id]);
    expect(rows).toHaveLength(1);
  });

  it('says whether an operator has to approve the campaign', async () => {
    const id = await readyCampaign(api, listId);
    await api.database.pool.query(`update accounts set approval_state = 'pending' where id = $1`, [
      api.accountId,
    ]);
    const { body } = await check(id);
    await api.database.pool.query(`update accounts set approval_state = 'not_required' where id = $1`, [
      api.accountId,
    ]);
    expect(body).toMatchObject({ errors: {}, needs_approval: true });
  });

  it('takes a campaign that waits for its time, which still waits for it', async () => {
    const id = await readyCampaign(api, listId, { scheduled_at: tomorrow() });
    await act(api, id, 'send');
    const before = (await show(api, id)).body;
    const checked = await check(id, { template_attributes: { subject: null } });
    expect(fieldsOf(checked)).toEqual(['template_attributes.subject']);
    expect((await show(api, id)).body).toEqual(before);
  });

  it('refuses a campaign that is over, or of another brand', async () => {
    const id = await readyCampaign(api, listId);
    const path = `/v1/my/campaigns/${id}/check`;
    expect((await api.request('POST', path, { token: api.other.apiKey })).status).toBe(404);
    await api.database.pool.query(`update campaigns set status = 'completed', phase = 'done' where id = $1`, [
      id,
    ]);
    expect((await check(id)).body).toMatchObject({ code: 'invalid_transition' });
  });
});
