import { z } from 'zod';
import { templateAttributes, templateResource } from '../../templates/schema.ts';
import { type SendingStep, sendAfterQuietHours, writeMessage } from './sending.ts';
import { presentedFields, stepShape } from './shapes.ts';
import type { StepType } from './step.ts';

export interface EmailStep extends SendingStep {
  type: 'email';
}

const { template_id, subject, preheader, body, design, from_name, from_email, reply_to } =
  templateAttributes.shape;
const text = z.string().nullable();

const assumed = { opened: z.boolean().optional(), clicked: z.boolean().optional() };

/** Sends an email. */
export const email: StepType<EmailStep, z.output<z.ZodObject<typeof assumed>>> = {
  type: 'email',
  shape: stepShape('email', {
    template_id,
    subject,
    preheader,
    body,
    design,
    from_name,
    from_email,
    reply_to,
  }),
  sends: 'email',

  presented: {
    template_id: presentedFields.templateId,
    subject: text,
    preheader: text,
    body: presentedFields.body,
    design: templateResource.shape.design.meta({
      description: 'Lists of flows leave it out. `content_from` of the template says which of both is sent.',
    }),
    from_name: text,
    from_email: text,
    reply_to: text,
  },
  present(_step, content) {
    if (!content) return {};
    const { subject, preheader, body, from_name, from_email, reply_to } = content;
    const design = 'design' in content && { design: content.design };
    return { subject, preheader, body, ...design, from_name, from_email, reply_to };
  },

  run: sendAfterQuietHours,
  act: writeMessage('email'),

  assumptions: { yesNo: false, fields: assumed, description: '`{"opened": true, "clicked": true}`, at once' },
  async simulate(_step, { asOf, assumed: { opened = false, clicked = false }, send, leave }) {
    const result = await send('email');
    if ('exit' in result || result.outcome !== 'sent') return result;
    leave({
      answer: null,
      openedAt: opened || clicked ? asOf : null,
      clickedAt: clicked ? asOf : null,
    });
    return result;
  },
};
