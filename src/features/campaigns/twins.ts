import type { Twins } from '../../platform/input/read-only.ts';
import { contentTwin } from '../templates/schema.ts';
import { triggerAttributes } from './schema.ts';

const content = contentTwin('template_attributes');

/** What changes read-only fields of a campaign. */
export const campaignTwins: Twins = {
  trigger: { use: 'trigger_attributes', parts: Object.keys(triggerAttributes.shape) },
  template: content,
  templates: content,
};
