// A design becomes HTML that sends the same mail, so that its author can go on in source.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const convert = (design: unknown, token = api.apiKey) =>
  api.request('POST', '/v1/my/templates/html', { token, body: { design } });

const design = {
  theme: { bg_color: '#eeeeee' },
  sections: [
    { type: 'header', props: { title: 'Acme' } },
    { type: 'text', props: { html: '<p>Hello {{ contact.first_name | default: "there" }} &amp; all</p>' } },
    { type: 'html', props: { html: '{% if contact.data.plan == "pro" %}<b>Pro</b>{% endif %}' } },
    { type: 'button', props: { label: 'Go', href: 'https://example.com/{{ contact.data.plan }}' } },
  ],
};

describe('POST /templates/html', () => {
  it('returns a document with the Liquid of the design, without preheader and footer', async () => {
    const { status, body } = await convert(design);
    expect([status, body.problems]).toEqual([200, []]);
    const html = String(body.html);
    expect(html).toMatch(/^\s*<!doctype html>/i);
    expect(html).toContain('Hello {{ contact.first_name | default: "there" }} &amp; all');
    expect(html).toContain('{% if contact.data.plan == "pro" %}<b>Pro</b>{% endif %}');
    expect(html).toContain('href="https://example.com/{{ contact.data.plan }}"');
    expect(html).not.toContain('unsubscribe_url');
  });

  it('returns what sends the same mail as the design', async () => {
    const source = String((await convert(design)).body.html);
    const made = await api.request('POST', '/v1/my/contacts', {
      body: { email: 'ada@example.com', first_name: '<Ada>', data: { plan: 'pro' } },
    });
    const render = async (content: object) =>
      (
        await api.request('POST', '/v1/my/templates/render', {
          body: { subject: 'News', preheader: 'Read this', contact_id: Number(made.body.id), ...content },
        })
      ).body;
    const [byDesign, bySource] = [await render({ design }), await render({ body: source })];
    expect(bySource.html).toBe(byDesign.html);
    expect(bySource.text).toBe(byDesign.text);
    expect(bySource.text).toContain('Hello <Ada> & all');
  });

  it('names what is wrong with a design', async () => {
    const broken = { sections: [{ type: 'text', props: { html: '{{ oops' } }] };
    const { status, body } = await convert(broken);
    expect([status, body]).toEqual([
      200,
      {
        html: null,
        problems: [expect.objectContaining({ field: 'design.sections.0.props.html', code: 'liquid_error' })],
      },
    ]);
    const refused = [await convert(null), await convert({ sections: [{ type: 'unknown', props: {} }] })];
    expect(refused.map((each) => each.status)).toEqual([422, 422]);
  });

  it('has the theme and the logo of the own brand, and test keys may use it', async () => {
    const { status } = await convert(design, api.testApiKey);
    expect(status).toBe(200);
    await api.request('PUT', '/v1/my/brand', {
      token: api.userJwt,
      body: { brand_color: '#123456', company_name: 'Acme' },
    });
    const plain = { sections: [{ type: 'button', props: { label: 'Go', href: 'https://example.com/' } }] };
    expect((await convert(plain)).body.html).toContain('#123456');
    expect((await convert(plain, api.other.apiKey)).body.html).not.toContain('#123456');
  });
});
