// Drafts that programs and other versions of the console save: an editor is given only what it can show.
import { expect, it } from '@jest/globals';
import { readDraft as readCampaign } from '../../../console/src/pages/campaigns/editor/read-draft.ts';
import { readDraft as readFlow } from '../../../console/src/pages/flows/editor/read-draft.ts';
import { readDraft as readSegment } from '../../../console/src/pages/segments/read-draft.ts';
import { readDraft as readTemplate } from '../../../console/src/pages/templates/read-draft.ts';

const filters = [{ name: 'any', predicate: 'or', value: [{ name: 'email', predicate: 'present' }] }];
const column = { sections: [{ type: 'text', props: { html: 'Hello' } }] };
const design = { sections: [{ type: 'columns', props: { columns: [column, { sections: [] }] } }], theme: {} };
const letter = { subject: 'Hello', body: null, design, variables: { plan: 'Pro' } };
const audience = { contact_list_id: 1, segment_id: null, data: { exclude_list_ids: [2] } };
const trigger = { event: null, segment_id: null, contact_list_id: 3, data: { filters } };
const split = { ref: 'split', type: 'split', branches: [{ weight: 1, steps: [{ id: 4, type: 'wait' }] }] };

const segment = { name: 'Buyers', filters };
const template = { name: null, ...letter };
const campaign = {
  name: 'Tea',
  scheduled_at: null,
  data: { options: {} },
  trigger_attributes: audience,
  template_attributes: letter,
};
const flow = {
  name: 'Welcome',
  goal: null,
  trigger,
  steps: [split, { id: 5, type: 'condition', yes: [], no: null }],
};

it.each([
  ['segment', readSegment, segment],
  ['template', readTemplate, template],
  ['campaign', readCampaign, campaign],
  ['flow', readFlow, flow],
])('reads the draft of a %s, with fields that it does not know', (_, read, content) => {
  expect(read({ ...content, later: 1 })).toEqual({ ...content, later: 1 });
});

it.each([
  ['segment without filters', readSegment, { name: 'Buyers' }],
  ['segment with a filter that is none', readSegment, { ...segment, filters: [null] }],
  ['segment with a group of no filters', readSegment, { ...segment, filters: [{ ...filters[0], value: 1 }] }],
  ['template of nothing', readTemplate, {}],
  ['template with a subject of two parts', readTemplate, { ...template, subject: ['a', 'b'] }],
  ['template with a section that is none', readTemplate, { ...template, design: { sections: ['text'] } }],
  [
    'template with a column that is none',
    readTemplate,
    {
      ...template,
      design: { sections: [{ type: 'columns', props: { columns: [{}] } }] },
    },
  ],
  ['campaign without options', readCampaign, { ...campaign, data: {} }],
  ['campaign without audience', readCampaign, { ...campaign, trigger_attributes: null }],
  ['campaign without content', readCampaign, { ...campaign, template_attributes: undefined }],
  ['flow without trigger', readFlow, { ...flow, trigger: null }],
  ['flow with a step without id and ref', readFlow, { ...flow, steps: [{ type: 'wait' }] }],
  [
    'flow with a branch that is none',
    readFlow,
    { ...flow, steps: [{ ...split, branches: [{ weight: 1 }] }] },
  ],
])('does not read the draft of a %s', (_, read, content) => {
  expect(read(content)).toBeNull();
});
