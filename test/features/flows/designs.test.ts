// An email step has a design, which is stored, shown, sent and replaced as that of any template.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { prepareSender } from '../../support/campaign-requests.ts';
import { activeFlow, changeFlow, flowOf, showFlow, warmUpFlows } from '../../support/flow-requests.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  await warmUpFlows(api);
}, 240_000);
afterAll(() => api.close());

const pool = () => api.database.pool;
const wait = { type: 'wait', duration: 60 };
const design = { sections: [{ type: 'text', props: { html: '<p>Hi</p>' } }, { type: 'spacer' }] };

describe('the design of an email step', () => {
  const stepOf = (body: unknown) => (body as { steps: Record<string, unknown>[] }).steps[0];
  const templateOf = (body: unknown) => (body as { templates: Record<string, unknown>[] }).templates[0];

  it('is stored, shown with the step and sent', async () => {
    const id = await activeFlow(api, { steps: [{ type: 'email', subject: 'Hi', design }] });
    const shown = (await showFlow(api, id)).body;
    expect(stepOf(shown)).toMatchObject({
      design: { sections: [{ type: 'text' }, { props: { height: 20 } }] },
    });
    expect(templateOf(shown)).toMatchObject({ content_from: 'design', design: stepOf(shown)?.design });
    const { rows } = await pool().query<{ html: string }>(
      `select v.html from flow_contents c join template_versions v on v.id = c.version_id where c.flow_id = $1`,
      [id],
    );
    expect(rows[0]?.html).toContain('<p>Hi</p>');
  });

  it('is replaced by a body that is set later, and the other way round', async () => {
    const id = await flowOf(api, { steps: [{ type: 'email', subject: 'Hi', design }] });
    const designed = stepOf((await showFlow(api, id)).body);
    const written = (await changeFlow(api, id, { steps: [{ ...designed, body: 'Text' }] })).body;
    expect(templateOf(written)).toMatchObject({ content_from: 'body', body: 'Text' });
    const other = { sections: [{ type: 'divider' }] };
    const again = await changeFlow(api, id, { steps: [{ ...stepOf(written), design: other }] });
    expect(templateOf(again.body)).toMatchObject({ content_from: 'design', body: 'Text' });
    const cleared = await changeFlow(api, id, { steps: [{ ...stepOf(again.body), design: null }] });
    expect(templateOf(cleared.body)).toMatchObject({ content_from: 'body', design: null });
  });

  it('is left out of lists', async () => {
    const id = await flowOf(api, { steps: [{ type: 'email', subject: 'Hi', design }] });
    const { list } = await api.request('GET', '/v1/my/flows?limit=1');
    expect([Number(list[0]?.id), stepOf(list[0])]).toEqual([id, expect.not.objectContaining({ design })]);
  });

  it('names the part that is wrong', async () => {
    const wrong = { sections: [{ type: 'text', props: { html: 4 } }] };
    const steps = [wait, { type: 'email', subject: 'Hi', design: wrong }];
    const { status, body } = await changeFlow(api, await flowOf(api), { steps });
    expect([status, Object.keys(body.validation_errors as object)]).toEqual([
      422,
      ['steps[1].design.sections[0].props.html'],
    ]);
  });
});
