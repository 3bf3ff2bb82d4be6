// A part that is put aside comes back as it was, and is never sent to be saved.
import { describe, expect, it } from '@jest/globals';
import { type Content, withoutDraftFields, withPart } from '../../../console/src/editors/content/content.ts';
import { isContent } from '../../../console/src/editors/content/read-content.ts';
import { patchOf } from '../../../console/src/pages/campaigns/editor/content.ts';
import { requestOf } from '../../../console/src/pages/flows/editor/content.ts';
import type { Step } from '../../../console/src/pages/flows/editor/model.ts';

const design = { sections: [{ type: 'divider' as const, props: {} }], theme: { bg_color: '#eeeeee' } };
const letter: Content = { subject: 'News', body: null, design, variables: { plan: 'pro' } };

describe('a design', () => {
  const asSource = withPart(letter, { body: '<p>Source</p>' });

  it('is put aside while the letter is source, and comes back, with the source put aside', () => {
    expect(asSource).toEqual({ ...letter, body: '<p>Source</p>', design: null, put_aside: { design } });
    expect(withPart(asSource, { design })).toEqual({ ...letter, put_aside: { body: '<p>Source</p>' } });
    expect(isContent(JSON.parse(JSON.stringify(asSource)))).toBe(true);
    expect(isContent({ ...asSource, put_aside: { design: { sections: [{}] } } })).toBe(false);
  });

  it('is not sent with a template, a campaign or a step of a flow', () => {
    const saved = { ...letter, body: '<p>Source</p>', design: null };
    expect(withoutDraftFields(asSource)).toEqual(saved);
    const campaign = {
      name: 'News',
      scheduled_at: null,
      data: { options: {} },
      trigger_attributes: { contact_list_id: 1, segment_id: null, data: {} },
      template_attributes: asSource,
    };
    for (const stage of ['draft', 'begun'] as const) {
      expect(patchOf(campaign, stage).template_attributes).toEqual(saved);
    }
    const step = { type: 'email', ref: 'mail', ...asSource } as unknown as Step;
    const branch = { type: 'condition', ref: 'asks', yes: [step], no: null } as unknown as Step;
    const flow = { name: 'Flow', goal: null, trigger: { data: {} }, steps: [step, branch] };
    const { steps } = requestOf(flow as unknown as Parameters<typeof requestOf>[0]);
    expect(steps).toMatchObject([saved, { yes: [saved] }]);
    expect(JSON.stringify(steps)).not.toContain('put_aside');
  });
});
