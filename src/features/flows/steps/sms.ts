import { templateAttributes } from '../../templates/schema.ts';
import { type SendingStep, sendAfterQuietHours, writeMessage } from './sending.ts';
import { presentedFields, stepShape } from './shapes.ts';
import type { StepType } from './step.ts';

export interface SmsStep extends SendingStep {
  type: 'sms';
}

const { template_id, body } = templateAttributes.shape;

/** Sends an SMS. */
export const sms: StepType<SmsStep> = {
  type: 'sms',
  shape: stepShape('sms', { template_id, body }),
  sends: 'sms',

  presented: { template_id: presentedFields.templateId, body: presentedFields.body },
  present: (_step, content) => (content ? { body: content.body } : {}),

  run: sendAfterQuietHours,
  act: writeMessage('sms'),

  simulate: (_step, { send }) => send('sms'),
};
