import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { addUpload } from '../../support/uploads.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

describe('PUT /v1/my/brand', () => {
  const put = (body: object) => api.request('PUT', '/v1/my/brand', { body });

  it('names every bad field, and changes nothing', async () => {
    const before = (await api.request('GET', '/v1/my/brand')).body;
    const answer = await put({
      brand_color: 'red',
      text_color: '#12345',
      bg_color: '#1234567',
      company_name: 'A\r\nB',
      font_body: 7,
      example_copy: ['x', 1],
      links: [{ url: 'javascript:alert(1)' }, { icon: 'x' }, { url: 'https://a.test', href: 'y' }],
      default_header: [],
      default_theme: { big: 'x'.repeat(33_000) },
      track_opens: 'yes',
      logo: 'nonsense',
      brand_colour: '#000000',
    });
    expect(answer.status).toBe(422);
    expect(answer.body.validation_errors).toEqual({
      brand_color: ['must be # and six hexadecimal digits'],
      text_color: ['must be # and six hexadecimal digits'],
      bg_color: ['must be # and six hexadecimal digits'],
      company_name: ['must not contain line breaks or control characters'],
      font_body: ['must be a string'],
      'example_copy.1': ['must be a string'],
      'links.0.url': ['must be a web, mailto or tel link'],
      'links.1.url': ['is required'],
      'links.2.href': ['is not a known field'],
      default_header: ['must be an object'],
      default_theme: ['must have at most 32 KB'],
      track_opens: ['must be true or false'],
      brand_colour: ['is not a known field; did you mean brand_color?'],
    });
    const logo = await put({ logo: 'javascript:alert(1)' });
    expect([logo.status, logo.body.validation_errors]).toEqual([
      422,
      { logo: ['must be a URL or the signed_id of an uploaded image'] },
    ]);
    expect((await api.request('GET', '/v1/my/brand')).body).toEqual(before);
  });

  it('stores every field, leaves fields that are left out, and shows when the brand is complete', async () => {
    const fields = {
      brand_color: '#AABBCC',
      text_color: '#000000',
      bg_color: '#ffffff',
      font_heading: 'Georgia',
      font_body: 'Inter',
      style_notes: 'Short.\nFriendly.',
      tone: 'warm',
      company_description: 'Sells anvils',
      industry: 'Hardware',
      physical_address: '1 Road\nTown',
      company_name: 'Acme',
      example_copy: ['Hello'],
      links: [{ url: 'https://acme.test', icon: 'globe', title: 'Site' }],
      default_header: { logo: true },
      default_footer: { note: 'x' },
      default_theme: { radius: 4 },
      logo: 'https://acme.test/logo.png',
      track_opens: false,
      track_clicks: false,
      timezone: 'Europe/Berlin',
      sms_stop_text: 'Reply STOP to unsubscribe',
    };
    const changed = await put(fields);
    expect(changed.status).toBe(200);
    expect(changed.body).toEqual({
      ...fields,
      id: api.brandId,
      account_id: api.accountId,
      source_url: null,
      last_scraped_at: null,
      complete: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const partly = await put({ company_name: null });
    expect(partly.body).toMatchObject({ ...fields, company_name: null, complete: false });
    expect((await put({ ...(await api.request('GET', '/v1/my/brand')).body })).status).toBe(200);
  });

  it('stores objects unchanged, including the markers of the query library', async () => {
    const marked = { isRawInstance: true, client: {}, isObjectionQueryBuilderBase: true, $ref: '#/x' };
    const given = {
      default_header: marked,
      default_theme: { nested: [marked] },
      links: [],
      example_copy: [],
    };
    const answer = await put(given);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject(given);
  });

  it('shows an uploaded logo as a URL, and accepts that URL', async () => {
    const image = await addUpload(api, 'image/png');
    const { body } = await put({ logo: image });
    expect(body.logo).toBe(`${api.baseUrl}/uploads/${image}`);
    await put({ logo: body.logo });
    const { rows } = await api.database.pool.query<{ logo: string }>(
      'select logo from brands where id = $1',
      [api.brandId],
    );
    expect(rows[0]?.logo).toMatch(/^upload:\d+$/);
    const foreign = await put({ logo: await addUpload(api, 'image/png', api.other) });
    expect(foreign.status).toBe(422);
  });

  it('shows only the brand of the caller’s account', async () => {
    const brand = await api.request('GET', '/v1/my/brand', { token: api.other.apiKey });
    expect([brand.body.id, brand.body.company_name]).toEqual([api.other.brandId, 'Other Company']);
  });
});
